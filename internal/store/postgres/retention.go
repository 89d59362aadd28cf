package postgres

import (
	"context"
	"sync"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// DropKeys implements engine.KeyStore. It skips a key locked by another transaction, which may bind it again, and may
// be long.
func (*Store) DropKeys(ctx context.Context, within engine.Tx, before task.Instant, limit int) (int, error) {
	t := in(within)
	const query = `WITH old AS MATERIALIZED (SELECT namespace, key FROM tasker_idempotency_keys WHERE expires_at < $1
 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
 DELETE FROM tasker_idempotency_keys k USING old WHERE k.namespace = old.namespace AND k.key = old.key`
	n, err := t.sql.Exec(ctx, query, int64(before), limit)
	return int(n), err
}

// ForgetWorkers implements engine.Tx. It skips locked rows: such a worker may be about to come back.
func (t *tx) ForgetWorkers(ctx context.Context, before task.Instant, limit int) (int, error) {
	const query = `WITH old AS MATERIALIZED (SELECT worker_no FROM tasker_workers WHERE state = 'dead'
  AND last_heartbeat < $1
 ORDER BY worker_no LIMIT $2 FOR UPDATE SKIP LOCKED)
 DELETE FROM tasker_workers w USING old WHERE w.worker_no = old.worker_no`
	n, err := t.sql.Exec(ctx, query, int64(before), limit)
	return int(n), err
}

// sweep is the progress of the search for old tasks, shared by the transactions of this process.
type sweep struct {
	mu   sync.Mutex
	from task.ID
}

func (s *sweep) at() task.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from
}

// set stores the progress. It ends with the process; another searches from the start.
func (s *sweep) set(id task.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = id
}

const (
	retentionBatch   = 2000
	retentionBatches = 5
)

// DeleteFinished implements engine.Tx. No index is sorted by the time at which tasks finish, because every task would
// pay for it. The search visits tasks by creation, continues after the last search, and starts again after the young
// ones. It returns the number of deleted tasks; 0 does not mean that nothing is left.
func (t *tx) DeleteFinished(ctx context.Context, before, window task.Instant, limit int) (int, error) {
	edge := task.MakeID(task.SeqFloor(before.Time()), 0)
	from := t.store.sweep.at()
	var old []taskRow
	for range retentionBatches {
		last, n, err := t.retentionPage(ctx, from, edge, func(k taskRow) {
			if k.State.Terminal() && k.FinishedAt < before && !k.Meta.Case.Kept() && !k.KeyLives(window) && len(old) < limit {
				old = append(old, k)
			}
		})
		if err != nil {
			return 0, err
		}
		if from = last; n < retentionBatch {
			from = task.ID{} // the search has reached the end
			break
		}
		if len(old) == limit {
			from = old[limit-1].ID
			break
		}
	}
	t.after = append(t.after, func() { t.store.sweep.set(from) })
	unchanged, err := t.lockUnchanged(ctx, old)
	if err != nil || len(unchanged) == 0 {
		return 0, err
	}
	t.delete(unchanged)
	return len(unchanged), nil
}

// lockUnchanged locks the tasks that are unchanged since the read, and returns them. The search locks nothing, so
// another transaction may have opened a case of one, or may be about to: such a task stays for the next sweep. So does
// a child whose parent lives.
func (t *tx) lockUnchanged(ctx context.Context, rows []taskRow) ([]*task.Task, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var seen seenRows
	tasks := make(map[task.ID]*task.Task, len(rows))
	for i := range rows {
		seen.add(rows[i].ID, rows[i].version)
		tasks[rows[i].ID] = &rows[i].Task
	}
	const query = `SELECT t.id FROM unnest($1::uuid[], $2::xid[]) AS u(id, seen) JOIN tasker_tasks t ON t.id = u.id
  AND t.xmin = u.seen AND ` + store.NoParentLives + `
 ORDER BY t.id FOR UPDATE OF t SKIP LOCKED`
	var locked []*task.Task
	err := t.ask(ctx, query, []any{seen.ids, seen.versions}, func(r store.Row) error {
		var id task.ID
		err := r.Scan(&scanID{&id})
		locked = append(locked, tasks[id])
		return err
	})
	return locked, err
}

func (t *tx) retentionPage(ctx context.Context, from, edge task.ID, each func(taskRow)) (task.ID, int, error) {
	const query = ` FROM tasker_tasks t WHERE t.id > $1 AND t.id < $2 ORDER BY t.id LIMIT $3`
	last, n := from, 0
	err := t.ask(ctx, `SELECT `+taskColumns+query, []any{from, edge, retentionBatch}, func(r store.Row) error {
		var versions [2]uint32
		k, err := t.sql.ScanTask(versioned{r, &versions, false})
		if err != nil {
			return err
		}
		each(taskRow{*k, versions[0]})
		last = k.ID
		n++
		return nil
	})
	return last, n, err
}

func (t *tx) delete(tasks []*task.Task) {
	var ids, ends, tagged, keyed []task.ID
	var tags, keys []string
	var defs []int64
	for _, k := range tasks {
		ids = append(ids, k.ID)
		ends = append(ends, lastStep(k))
		for _, tag := range k.Meta.Tags {
			tags, tagged = append(tags, tag), append(tagged, k.ID)
		}
		if k.IdempotencyKey != "" {
			keys, keyed, defs = append(keys, k.IdempotencyKey), append(keyed, k.ID), append(defs, k.DefID)
		}
	}
	for _, table := range []string{"tasker_attempts", "tasker_task_events"} {
		t.exec(`DELETE FROM `+table+` r USING unnest($1::uuid[]) AS u(id) WHERE r.task_id = u.id`, ids)
	}
	t.exec(`DELETE FROM tasker_tasks_dlq c USING unnest($1::uuid[]) AS u(id) WHERE c.task_uuid = u.id`, ids)
	t.exec(`DELETE FROM tasker_task_watches w USING unnest($1::uuid[]) AS u(id) WHERE w.task_id = u.id`, ids)
	t.exec(`DELETE FROM tasker_workflow_steps s USING unnest($1::uuid[], $2::uuid[]) AS u(task, last)
 WHERE s.id > u.task AND s.id <= u.last AND s.task_id = u.task`, ids, ends)
	t.exec(`DELETE FROM tasker_tasks t USING unnest($1::uuid[]) AS u(id) WHERE t.id = u.id`, ids)
	if len(tags) > 0 {
		t.exec(
			`DELETE FROM tasker_task_tags g USING unnest($1::text[], $2::uuid[]) AS u(tag, task) WHERE g.tag = u.tag
  AND g.task_id = u.task`, tags, tagged)
	}
	if len(keys) > 0 {
		t.exec(
			`DELETE FROM tasker_idempotency_keys k USING unnest($1::text[], $2::uuid[], $3::bigint[]) AS u(key, task, def),
  tasker_templates d
 WHERE d.def_id = u.def AND k.namespace = d.namespace AND k.key = u.key AND k.task_id = u.task`, keys, keyed, defs)
	}
	t.deleteUnique(tasks)
	t.deleteMarked("tasker_checkpoints", tasks, func(m *task.Meta) bool { return len(m.Checkpoints) > 0 })
	t.deleteMarked("tasker_attempt_logs", tasks, func(m *task.Meta) bool { return m.Logged })
	for _, k := range tasks {
		if k.Meta.HasChildren {
			for _, query := range store.DeleteFamilies {
				t.exec(query, k.ID)
			}
		}
	}
	for _, id := range ids {
		delete(t.tasks, id)
	}
	t.after = append(t.after, func() { t.store.rowCache.forget(ids) })
}

func (t *tx) deleteMarked(table string, tasks []*task.Task, marked func(*task.Meta) bool) {
	var ids, ends []task.ID
	for _, k := range tasks {
		if marked(&k.Meta) {
			ids, ends = append(ids, k.ID), append(ends, lastStep(k))
		}
	}
	if len(ids) > 0 {
		t.exec(`DELETE FROM `+table+` r USING unnest($1::uuid[], $2::uuid[]) AS u(task, last)
 WHERE r.step_id > u.task AND r.step_id <= u.last AND r.task_id = u.task`, ids, ends)
	}
}

func lastStep(k *task.Task) task.ID { return task.MakeID(k.ID.Seq()+int64(k.Counts.Total()), 1<<62-1) }

// deleteUnique removes the unique keys bound to tasks, but skips those that another transaction is about to bind to
// others.
func (t *tx) deleteUnique(tasks []*task.Task) {
	const query = `WITH old AS MATERIALIZED (SELECT k.namespace, k.key
  FROM unnest($1::text[], $2::uuid[], $3::bigint[]) AS u(key, task, def) JOIN tasker_templates d ON d.def_id = u.def
  JOIN tasker_unique_keys k ON k.namespace = d.namespace AND k.key = u.key AND k.task_id = u.task
  FOR UPDATE OF k SKIP LOCKED)
 DELETE FROM tasker_unique_keys k USING old WHERE k.namespace = old.namespace AND k.key = old.key`
	var keys []string
	var ids []task.ID
	var defs []int64
	for _, k := range tasks {
		if u := k.Meta.Unique; u != nil {
			keys, ids, defs = append(keys, u.Key), append(ids, k.ID), append(defs, k.DefID)
		}
	}
	if len(keys) > 0 {
		t.exec(query, keys, ids, defs)
	}
}
