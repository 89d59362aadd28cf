package store

import (
	"context"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/inbox/replay"
	"github.com/taskerhq/tasker/internal/inbox/tidy"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	redriveState = `r.state, r.state_at, r.resume_state, r.halt, r.frozen_at, r.started_at, r.ended_at, r.total, r.wave,
  r.wave_size, r.wave_sent, r.wave_began, r.behind, r.version, r.counts, r.plan, r.stop`
	redriveColumns = `r.redrive_id, r.namespace, r.operation, r.destination, r.include_parked, r.actor, r.key_name,
  r.reason, r.created_at, r.edit, r.selection, ` + redriveState
)

var (
	redrives      = record[deadletter.Redrive]{"tasker_redrives r", redriveColumns, redriveFields}
	insertRedrive = redrives.insert(``)
	updateRedrive = updateOf("tasker_redrives", redriveState, "redrive_id")
)

func redriveStateFields(r *deadletter.Redrive) []any {
	return []any{(*string)(&r.State), &r.StateAt, (*string)(&r.Resume), &r.Halt, &r.FrozenAt, &r.StartedAt, &r.EndedAt,
		&r.Total, &r.Wave, &r.WaveSize, &r.WaveSent, &r.WaveBegan, &r.Behind, &r.Version, jsonField(&r.Counts, nil),
		jsonField(&r.Plan, nil), jsonField(&r.Stop, nil)}
}

// An undecodable part is an error: a redrive must not continue without its rules.
func redriveFields(r *deadletter.Redrive) []any {
	return append([]any{&r.ID, &r.Namespace, (*string)(&r.Operation), &r.Destination, &r.IncludeParked, &r.Actor, &r.Key,
		&r.Reason, &r.CreatedAt, jsonField(&r.Edit, nil), jsonField(&r.Selection, nil)}, redriveStateFields(r)...)
}

func (letterRows) AddRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive) error {
	return insertRedrive.add(ctx, In(tx), 1, func(int) []any { return redriveFields(r) })
}

// The lock makes acts of operators and the runner take turns.
func (letterRows) Redrive(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Redrive, error) {
	s := letterRows{In(tx)}
	return s.redriveByID(ctx, id, s.Lock)
}

func (s letterRows) FindRedrive(ctx context.Context, id task.ID) (*deadletter.Redrive, error) {
	return s.redriveByID(ctx, id, "")
}

// lock is Dialect.Lock, or "" for a read.
func (s letterRows) redriveByID(ctx context.Context, id task.ID, lock string) (*deadletter.Redrive, error) {
	return redrives.byID(ctx, s.SQL, ` WHERE r.redrive_id = $1`+lock, id)
}

func (letterRows) SaveRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive) error {
	return In(tx).update(ctx, updateRedrive, &r.ID, redriveStateFields(r))
}

// Each state is one walk along an index; without states the primary key is one.
func (s letterRows) ListRedrives(ctx context.Context, f redrive.Filter) ([]*deadletter.Redrive, error) {
	terms := func(w *where) {
		w.addIf(f.Namespace != "", "r.namespace = ?", f.Namespace)
		w.addIf(!f.Below.IsZero(), "r.redrive_id < ?", s.id(f.Below))
	}
	const page = ` ORDER BY r.redrive_id DESC LIMIT `
	w := where{}
	if len(f.States) == 0 {
		terms(&w)
		return redrives.list(ctx, s.SQL, w.text()+page+w.arg(f.Limit), w.args...)
	}
	walks := w.union(len(f.States), func(i int, one *where) string {
		one.add("r.state = ?", string(f.States[i]))
		terms(one)
		return `SELECT r.redrive_id FROM tasker_redrives r` + one.text() + page + one.arg(f.Limit)
	})
	return redrives.list(ctx, s.SQL, ` WHERE r.redrive_id IN (`+walks+`)`+page+w.arg(f.Limit), w.args...)
}

func (s letterRows) ActiveRedrives(ctx context.Context, behind task.ID, limit int) ([]*deadletter.Redrive, error) {
	return redrives.list(ctx, s.SQL, ` WHERE r.state IN ('running', 'observing') AND r.redrive_id > $1
 ORDER BY r.redrive_id LIMIT $2`, s.id(behind), limit)
}

// After too many items the transaction must roll back: they are inserted then.
func (letterRows) Freeze(ctx context.Context, tx engine.Tx, r *deadletter.Redrive, limit int) (int, error) {
	s := letterRows{In(tx)}
	w := where{}
	id := w.arg(s.id(r.ID))
	items, err := s.frozenItems(ctx, &w, r)
	if err != nil || len(items) == 0 {
		return 0, err
	}
	query := `INSERT INTO tasker_redrive_items (redrive_id, no, kind, item_id, state, wave, at, group_id, uncertain,
  message) SELECT CAST(` + id + ` AS uuid), row_number() OVER (ORDER BY q.died, q.id), q.kind, q.id, 'pending', 0,
  CAST(` + w.arg(int64(r.FrozenAt)) + ` AS bigint), 0, 0, '' FROM (` + strings.Join(items, ` UNION ALL `)
	if r.Plan.Limit > 0 { // only then the order matters
		query += ` ORDER BY died, id LIMIT ` + w.arg(min(r.Plan.Limit, limit)) + `) q`
	} else {
		query += ` LIMIT ` + w.arg(limit+1) + `) q`
	}
	n, err := s.Exec(ctx, query, w.args...)
	if err == nil && n > int64(limit) {
		e := task.Errorf(task.TooLarge, "the selection has more than %d items", limit)
		e.Hint = "select less, for example a group or a span of time"
		return 0, e
	}
	return int(n), err
}

func (s letterRows) frozenItems(ctx context.Context, w *where, r *deadletter.Redrive) ([]string, error) {
	f := r.Selection
	var items []string
	if f.SelectsLetters() {
		letters := where{args: w.args}
		if len(f.IDs) > 0 {
			letters.add("l.letter_id IN " + s.idList(&letters, f.IDs))
		}
		if f.State != "" {
			letters.add("l.state = ?", string(f.State))
		}
		s.letterTerms(&letters, f)
		letters.addIf(!r.IncludeParked, "l.parked = 0")
		items = append(items, `SELECT 'letter' AS kind, l.letter_id AS id, l.first_at AS died FROM tasker_letters l`+
			letters.text())
		w.args = letters.args
	}
	if !hasCases(f) {
		return items, nil
	}
	cases := where{args: w.args}
	some, err := s.caseSelection(ctx, &cases, f)
	if err != nil || !some {
		return items, err
	}
	w.args = cases.args
	return append(items, `SELECT 'case' AS kind, c.dlq_entry_uuid AS id, c.dlq_timestamp AS died FROM tasker_tasks_dlq c`+
		cases.text()), nil
}

// The cases of a redrive are watched until their tasks end, even after the redrive.
func (s letterRows) EndedRedrives(ctx context.Context, behind tidy.EndedRedrive, before task.Instant,
	limit int,
) ([]tidy.EndedRedrive, error) {
	const query = `SELECT r.redrive_id, r.ended_at FROM tasker_redrives r WHERE r.ended_at <> 0 AND r.ended_at <= $1
  AND (r.ended_at, r.redrive_id) > (CAST($2 AS bigint), $3) AND NOT EXISTS (SELECT 1 FROM tasker_redrive_items i
   WHERE i.redrive_id = r.redrive_id AND i.kind = 'case' AND i.state = 'sent')
 ORDER BY r.ended_at, r.redrive_id LIMIT $4`
	return collect(ctx, s, func(row Row) (r tidy.EndedRedrive, err error) {
		err = row.Scan(s.ScanID(&r.ID), &r.At)
		return r, err
	}, query, int64(before), int64(behind.At), s.id(behind.ID), limit)
}

func (letterRows) PurgeRedrive(ctx context.Context, tx engine.Tx, id task.ID, limit int) (n int, gone bool, err error) {
	s := In(tx)
	const items = `DELETE FROM tasker_redrive_items WHERE redrive_id = $1 AND no IN (SELECT no
 FROM tasker_redrive_items WHERE redrive_id = $1 ORDER BY no LIMIT $2)`
	deleted, err := s.Exec(ctx, items, s.id(id), limit)
	if n = int(deleted); err != nil || n == limit {
		return n, false, err
	}
	return n + 1, true, s.Send(ctx, `DELETE FROM tasker_redrives WHERE redrive_id = $1`, s.id(id))
}

const (
	replayState   = `r.state, r.progress, r.purge_at, r.version`
	replayColumns = `r.replay_id, r.namespace, r.source, r.spec, r.actor, r.key_name, r.reason, r.created_at,
  ` + replayState
)

var (
	replays      = record[deadletter.Replay]{"tasker_replays r", replayColumns, replayFields}
	insertReplay = replays.insert(``)
	updateReplay = updateOf("tasker_replays", replayState, "replay_id")
)

func replayStateFields(r *deadletter.Replay) []any {
	return []any{(*string)(&r.State), jsonField(&r.Progress, nil), &r.PurgeAt, &r.Version}
}

func replayFields(r *deadletter.Replay) []any {
	return append([]any{&r.ID, &r.Namespace, &r.Source, jsonField(&r.Spec, nil), &r.Actor, &r.Key, &r.Reason,
		&r.CreatedAt}, replayStateFields(r)...)
}

func (letterRows) AddReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay) error {
	return insertReplay.add(ctx, In(tx), 1, func(int) []any { return replayFields(r) })
}

func (letterRows) SaveReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay) error {
	return In(tx).update(ctx, updateReplay, &r.ID, replayStateFields(r))
}

func (letterRows) Replay(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Replay, error) {
	s := letterRows{In(tx)}
	return s.replayByID(ctx, id, s.Lock)
}

func (s letterRows) FindReplay(ctx context.Context, id task.ID) (*deadletter.Replay, error) {
	return s.replayByID(ctx, id, "")
}

func (s letterRows) replayByID(ctx context.Context, id task.ID, lock string) (*deadletter.Replay, error) {
	return replays.byID(ctx, s.SQL, ` WHERE r.replay_id = $1`+lock, id)
}

func (s letterRows) ListReplays(ctx context.Context, f replay.Filter) ([]*deadletter.Replay, error) {
	w := where{}
	w.addIf(f.Namespace != "", "r.namespace = ?", f.Namespace)
	w.addIf(!f.Below.IsZero(), "r.replay_id < ?", s.id(f.Below))
	return replays.list(ctx, s.SQL, w.text()+` ORDER BY r.replay_id DESC LIMIT `+w.arg(f.Limit), w.args...)
}

func (s letterRows) RunningReplays(ctx context.Context, limit int) ([]*deadletter.Replay, error) {
	return replays.list(ctx, s.SQL, ` WHERE r.state = 'running' AND r.state NOT IN ('done', 'cancelled')
 ORDER BY r.replay_id LIMIT $1`, limit)
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
