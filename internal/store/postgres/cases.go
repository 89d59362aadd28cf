package postgres

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// What follows is portable SQL in this transaction. A case is read afresh, after
// its task: if somebody else changes it meanwhile, the task is not as it was seen.

func (t *tx) AddCases(ctx context.Context, c []*task.Case) error  { return t.added().AddCases(ctx, c) }
func (t *tx) SaveCases(ctx context.Context, c []*task.Case) error { return t.added().SaveCases(ctx, c) }

func (t *tx) RecurCases(ctx context.Context, c []*task.Case) error {
	return t.added().RecurCases(ctx, c)
}

func (t *tx) Case(ctx context.Context, id task.ID) (*task.Case, error) { return t.sql.Case(ctx, id) }

func (t *tx) PendingCases(ctx context.Context, tasks []task.ID) ([]*task.Case, error) {
	return t.sql.PendingCases(ctx, tasks)
}

func (t *tx) CasesOf(ctx context.Context, tasks []task.ID) ([]*task.Case, error) {
	return t.sql.CasesOf(ctx, tasks)
}
func (t *tx) DeleteCases(ctx context.Context, ids []task.ID) error {
	return t.added().DeleteCases(ctx, ids)
}

func (t *tx) Evidence(ctx context.Context, tasks []task.ID) (map[task.ID]engine.Evidence, error) {
	return t.sql.Evidence(ctx, tasks)
}

func (t *tx) Note(ctx context.Context, key, text string) error { return t.added().Note(ctx, key, text) }

func (t *tx) DropNotes(ctx context.Context, keys []string) error {
	return t.added().DropNotes(ctx, keys)
}

// FirstNote implements engine.TxWatches.
func (t *tx) FirstNote(ctx context.Context, key, text string) error {
	return t.added().FirstNote(ctx, key, text)
}

// Watch implements engine.TxWatches.
func (t *tx) Watch(ctx context.Context, watches []engine.Watch) error {
	var ids []task.ID
	var at []int64
	for _, w := range watches {
		ids, at = append(ids, w.Task), append(at, int64(w.At))
	}
	if len(ids) > 0 {
		t.exec(`INSERT INTO tasker_task_watches (task_id, stale_at) SELECT DISTINCT ON (u.id) u.id, u.at FROM unnest($1::uuid[], $2::bigint[]) AS u(id, at)
 ORDER BY u.id ON CONFLICT (task_id) DO UPDATE SET stale_at = excluded.stale_at`, ids, at)
	}
	return nil
}

// Rewatch implements engine.TxWatches.
func (t *tx) Rewatch(ctx context.Context, moves []engine.WatchMove) error {
	var moved, dropped []task.ID
	var seen, next, last []int64
	for _, m := range moves {
		if m.Next == 0 {
			dropped, last = append(dropped, m.Task), append(last, int64(m.At))
		} else {
			moved, seen, next = append(moved, m.Task), append(seen, int64(m.At)), append(next, int64(m.Next))
		}
	}
	if len(moved) > 0 {
		t.exec(`UPDATE tasker_task_watches w SET stale_at = u.next FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS u(id, seen, next)
 WHERE w.task_id = u.id AND w.stale_at = u.seen`, moved, seen, next)
	}
	if len(dropped) > 0 {
		t.exec(`DELETE FROM tasker_task_watches w USING unnest($1::uuid[], $2::bigint[]) AS u(id, seen) WHERE w.task_id = u.id AND w.stale_at = u.seen`,
			dropped, last)
	}
	return nil
}
