package postgres

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// Watch implements engine.WatchStore. Of two watches for one task in the list, one remains: a statement must not change
// a row twice.
func (*Store) Watch(ctx context.Context, within engine.Tx, watches []engine.Watch) error {
	t := in(within)
	var ids []task.ID
	var at []int64
	for _, w := range watches {
		ids, at = append(ids, w.Task), append(at, int64(w.At))
	}
	if len(ids) > 0 {
		t.exec(
			`INSERT INTO tasker_task_watches (task_id, stale_at) SELECT DISTINCT ON (u.id) u.id, u.at
  FROM unnest($1::uuid[], $2::bigint[]) AS u(id, at)
 ORDER BY u.id ON CONFLICT (task_id) DO UPDATE SET stale_at = excluded.stale_at`, ids, at)
	}
	return nil
}

// Rewatch implements engine.WatchStore. It skips a watch that changed since it was read, by its time.
func (*Store) Rewatch(ctx context.Context, within engine.Tx, moves []engine.WatchMove) error {
	t := in(within)
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
		t.exec(
			`UPDATE tasker_task_watches w SET stale_at = u.next FROM unnest($1::uuid[], $2::bigint[], $3::bigint[])
  AS u(id, seen, next)
 WHERE w.task_id = u.id AND w.stale_at = u.seen`, moved, seen, next)
	}
	if len(dropped) > 0 {
		t.exec(
			`DELETE FROM tasker_task_watches w USING unnest($1::uuid[], $2::bigint[]) AS u(id, seen) WHERE w.task_id = u.id
  AND w.stale_at = u.seen`,
			dropped, last)
	}
	return nil
}

// Overdue implements engine.Tx. It skips locked tasks until the next run.
func (t *tx) Overdue(ctx context.Context, until task.Instant, limit int) ([]*task.Task, error) {
	query := `SELECT ` + taskColumns +
		` FROM tasker_tasks t WHERE t.deadline_at > 0 AND t.deadline_at <= $1 ORDER BY t.deadline_at LIMIT $2
  FOR UPDATE SKIP LOCKED`
	var tasks []*task.Task
	err := t.ask(ctx, query, []any{int64(until), limit}, func(r store.Row) error {
		k, err := t.scanTask(r)
		tasks = append(tasks, k)
		return err
	})
	return tasks, err
}
