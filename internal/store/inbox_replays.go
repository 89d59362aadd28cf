package store

import (
	"context"
	"strings"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

const replayColumns = `r.replay_id, r.namespace, r.source, r.state, r.spec, r.progress, r.actor, r.key_name, r.reason,
  r.created_at, r.purge_at, r.version`

var insertReplay = bulkOf(`INSERT INTO tasker_replays (`+strings.ReplaceAll(replayColumns, "r.", "")+`)`, "ittttttttnnn",
	``)

func (s letterRows) scanReplay(row Row) (*deadletter.Replay, error) {
	r := &deadletter.Replay{}
	var spec, progress JSON
	err := row.Scan(s.ScanID(&r.ID), (*Text)(&r.Namespace), (*Text)(&r.Source), (*Text)(&r.State), &spec, &progress,
		(*Text)(&r.Actor), (*Text)(&r.Key), (*Text)(&r.Reason), &r.CreatedAt, &r.PurgeAt, &r.Version)
	if err == nil {
		err = spec.into(&r.Spec)
	}
	if err == nil {
		err = progress.into(&r.Progress)
	}
	return r, err
}

func (letterRows) AddReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay) error {
	s := In(tx)
	spec, err := jsonText(r.Spec)
	if err != nil {
		return err
	}
	progress, err := jsonText(r.Progress)
	if err != nil {
		return err
	}
	return insertReplay.send(ctx, s, [][]any{{s.id(r.ID), r.Namespace, r.Source, string(r.State), spec, progress,
		clean(r.Actor), clean(r.Key), clean(r.Reason), int64(r.CreatedAt), int64(r.PurgeAt), r.Version}})
}

func (letterRows) SaveReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay) error {
	s := In(tx)
	progress, err := jsonText(r.Progress)
	if err != nil {
		return err
	}
	return s.Send(ctx, `UPDATE tasker_replays SET state = $2, progress = $3, purge_at = $4, version = $5
 WHERE replay_id = $1`, s.id(r.ID), string(r.State), progress, int64(r.PurgeAt), r.Version)
}

func (letterRows) Replay(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Replay, error) {
	s := letterRows{In(tx)}
	return s.replayByID(ctx, id, s.Lock)
}

func (s letterRows) FindReplay(ctx context.Context, id task.ID) (*deadletter.Replay, error) {
	return s.replayByID(ctx, id, "")
}

func (s letterRows) replayByID(ctx context.Context, id task.ID, lock string) (*deadletter.Replay, error) {
	r, err := first(ctx, s, s.scanReplay, `SELECT `+replayColumns+` FROM tasker_replays r WHERE r.replay_id = $1`+lock,
		s.id(id))
	if err != nil || r == nil || r.ID != id { // an engine may keep a part of the ID
		return nil, err
	}
	return r, nil
}

func (s letterRows) ListReplays(ctx context.Context, f inbox.ReplayFilter) ([]*deadletter.Replay, error) {
	w := where{}
	w.addIf(f.Namespace != "", "r.namespace = ?", f.Namespace)
	w.addIf(!f.Below.IsZero(), "r.replay_id < ?", s.id(f.Below))
	return collect(ctx, s, s.scanReplay, `SELECT `+replayColumns+` FROM tasker_replays r`+w.text()+
		` ORDER BY r.replay_id DESC LIMIT `+w.arg(f.Limit), w.args...)
}

func (s letterRows) RunningReplays(ctx context.Context, limit int) ([]*deadletter.Replay, error) {
	return collect(ctx, s, s.scanReplay, `SELECT `+replayColumns+` FROM tasker_replays r WHERE r.state = 'running'
 AND r.state NOT IN ('done', 'cancelled') ORDER BY r.replay_id LIMIT $1`, limit)
}

func (letterRows) OpenReplays(ctx context.Context, tx engine.Tx, namespace string) (int, error) {
	s := In(tx)
	n, err := first(ctx, s, scanInt, `SELECT count(*) FROM tasker_replays
 WHERE namespace = $1 AND state NOT IN ('done', 'cancelled')`, namespace)
	return int(n), err
}

func (letterRows) PurgeReplays(ctx context.Context, tx engine.Tx, until task.Instant, limit int) (int, error) {
	const query = `DELETE FROM tasker_replays WHERE replay_id IN (SELECT replay_id FROM tasker_replays
 WHERE purge_at <> 0 AND purge_at <= $1 ORDER BY purge_at LIMIT $2)`
	n, err := In(tx).Exec(ctx, query, int64(until), limit)
	return int(n), err
}
