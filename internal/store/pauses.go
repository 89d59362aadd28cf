package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

const pauseColumns = `kind, namespace, name, capabilities, actor, reason, paused_at, until_at, ended_at, ended_by, end_reason`

// PauseStore implements engine.Database.
func (s SQL) PauseStore() engine.PauseStore { return s }

// SavePause implements engine.PauseStore.
func (SQL) SavePause(ctx context.Context, tx engine.Tx, p *task.Pause) error {
	return In(tx).Send(ctx, `INSERT INTO tasker_pauses (`+pauseColumns+`)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (kind, namespace, name, capabilities)
 DO UPDATE SET actor = excluded.actor, reason = excluded.reason, paused_at = excluded.paused_at,
  until_at = excluded.until_at, ended_at = excluded.ended_at, ended_by = excluded.ended_by,
  end_reason = excluded.end_reason`, string(p.Kind), p.Namespace, p.Name, p.Capabilities, p.Actor, p.Reason, int64(p.At),
		int64(p.Until), int64(p.EndedAt), p.EndedBy, p.EndReason)
}

// FindPause implements engine.PauseStore.
func (SQL) FindPause(ctx context.Context, tx engine.Tx, t task.PauseTarget) (*task.Pause, error) {
	s := In(tx)
	found, err := collect(ctx, s, scanPause, `SELECT `+pauseColumns+` FROM tasker_pauses
 WHERE kind = $1 AND namespace = $2 AND name = $3 AND capabilities = $4`+s.Lock, string(t.Kind), t.Namespace, t.Name,
		t.Capabilities)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// CountPauses implements engine.PauseStore.
func (SQL) CountPauses(ctx context.Context, tx engine.Tx, namespace string) (all, of int, err error) {
	err = In(tx).Query(ctx, `SELECT count(*), count(CASE WHEN namespace = $1 THEN 1 END) FROM tasker_pauses
 WHERE ended_at = 0`, []any{namespace}, func(row Row) error { return row.Scan(&all, &of) })
	return all, of, err
}

// DropPauses implements engine.PauseStore. The earliest ends go first.
func (SQL) DropPauses(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error) {
	n, err := In(tx).Exec(ctx, `DELETE FROM tasker_pauses WHERE (kind, namespace, name, capabilities) IN
 (SELECT kind, namespace, name, capabilities FROM tasker_pauses WHERE ended_at > 0 AND ended_at < $1
  ORDER BY ended_at LIMIT $2)`, int64(before), limit)
	return int(n), err
}

// Pauses implements engine.PauseStore.
func (s SQL) Pauses(ctx context.Context, limit int) ([]task.Pause, error) {
	return collect(ctx, s, scanPause, `SELECT `+pauseColumns+` FROM tasker_pauses
 ORDER BY CASE WHEN ended_at = 0 THEN 0 ELSE 1 END, ended_at DESC, namespace, kind, name, capabilities LIMIT $1`, limit)
}

func scanPause(row Row) (p task.Pause, err error) {
	err = row.Scan((*Text)((*string)(&p.Kind)), (*Text)(&p.Namespace), (*Text)(&p.Name), (*Text)(&p.Capabilities),
		(*Text)(&p.Actor), (*Text)(&p.Reason), (*int64)(&p.At), (*int64)(&p.Until), (*int64)(&p.EndedAt),
		(*Text)(&p.EndedBy), (*Text)(&p.EndReason))
	return p, err
}
