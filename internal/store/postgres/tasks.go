package postgres

import (
	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/task"
)

// BindKey implements engine.TxRecords.
func (t *tx) BindKey(namespace, key string, id task.ID, expires task.Instant) error {
	return t.added().BindKey(t.ctx, namespace, key, id, expires)
}

// Overdue implements engine.TxTasks.
func (t *tx) Overdue(until task.Instant, limit int) ([]*task.Task, error) {
	query := `SELECT ` + taskColumns + ` FROM tasker_tasks t WHERE t.deadline_at > 0 AND t.deadline_at <= $1 ORDER BY t.deadline_at LIMIT $2 FOR UPDATE SKIP LOCKED`
	var tasks []*task.Task
	err := t.ask(query, []any{int64(until), limit}, func(r store.Row) error {
		k, err := t.scanTask(r)
		tasks = append(tasks, k)
		return err
	})
	return tasks, err
}

const (
	// glance is how many tasks one look for old ones reads.
	glance = 2000
	// glances is how many such looks one transaction takes.
	glances = 5
)

// DeleteFinished implements engine.TxTasks. No index is sorted by the time at
// which tasks finish: keeping one would cost every task. The search goes through
// the tasks in the order they were created, from where the last one ended, and
// begins anew when it has come to those that are too young.
func (t *tx) DeleteFinished(before task.Instant, limit int) (int, error) {
	edge := task.MakeID(task.SeqFloor(before.Time()), 0)
	from := t.store.sweep.at()
	var old []*task.Task
	for range glances {
		last, n, err := t.glance(from, edge, func(k *task.Task) {
			if k.State.Terminal() && k.FinishedAt < before && !k.Meta.Case.Kept() && len(old) < limit {
				old = append(old, k)
			}
		})
		if err != nil {
			return 0, err
		}
		if from = last; n < glance {
			from = task.ID{} // all of them have been looked at
			break
		}
		if len(old) == limit {
			from = old[limit-1].ID
			break
		}
	}
	t.after = append(t.after, func() { t.store.sweep.set(from) })
	if len(old) > 0 {
		t.delete(old)
	}
	return len(old), nil
}

// glance reads tasks behind an ID, and returns the last one's and how many there were.
func (t *tx) glance(from, edge task.ID, each func(*task.Task)) (task.ID, int, error) {
	const query = ` FROM tasker_tasks t WHERE t.id > $1 AND t.id < $2 ORDER BY t.id LIMIT $3`
	last, n := from, 0
	err := t.ask(`SELECT `+taskColumns+query, []any{from, edge, glance}, func(r store.Row) error {
		var versions [2]uint32
		k, err := t.sql.ScanTask(versioned{r, &versions, false})
		if err != nil {
			return err
		}
		each(k)
		last = k.ID
		n++
		return nil
	})
	return last, n, err
}

// delete removes tasks with all that belongs to them.
func (t *tx) delete(tasks []*task.Task) {
	var ids, ends, tagged, keyed []task.ID
	var tags, keys []string
	var defs []int64
	for _, k := range tasks {
		ids = append(ids, k.ID)
		ends = append(ends, task.MakeID(k.ID.Seq()+int64(k.Counts.Total()), 1<<62-1))
		for _, tag := range k.Meta.Tags {
			tags, tagged = append(tags, tag), append(tagged, k.ID)
		}
		if k.IdempotencyKey != "" {
			keys, keyed, defs = append(keys, k.IdempotencyKey), append(keyed, k.ID), append(defs, k.DefID)
		}
	}
	for _, table := range []string{"tasker_attempts", "tasker_task_events", "tasker_acts"} {
		t.exec(`DELETE FROM `+table+` r USING unnest($1::uuid[]) AS u(id) WHERE r.task_id = u.id`, ids)
	}
	t.exec(`DELETE FROM tasker_tasks_dlq c USING unnest($1::uuid[]) AS u(id) WHERE c.task_uuid = u.id`, ids)
	t.exec(`DELETE FROM tasker_task_watches w USING unnest($1::uuid[]) AS u(id) WHERE w.task_id = u.id`, ids)
	t.exec(`DELETE FROM tasker_workflow_steps s USING unnest($1::uuid[], $2::uuid[]) AS u(task, last)
 WHERE s.id > u.task AND s.id <= u.last AND s.task_id = u.task`, ids, ends)
	t.exec(`DELETE FROM tasker_tasks t USING unnest($1::uuid[]) AS u(id) WHERE t.id = u.id`, ids)
	if len(tags) > 0 {
		t.exec(`DELETE FROM tasker_task_tags g USING unnest($1::text[], $2::uuid[]) AS u(tag, task) WHERE g.tag = u.tag AND g.task_id = u.task`, tags, tagged)
	}
	if len(keys) > 0 {
		t.exec(`DELETE FROM tasker_idempotency_keys k USING unnest($1::text[], $2::uuid[], $3::bigint[]) AS u(key, task, def), tasker_templates d
 WHERE d.def_id = u.def AND k.namespace = d.namespace AND k.key = u.key AND k.task_id = u.task`, keys, keyed, defs)
	}
	for _, id := range ids {
		delete(t.tasks, id)
	}
	t.after = append(t.after, func() { t.store.memory.forget(ids) })
}
