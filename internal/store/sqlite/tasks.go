package sqlite

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/task"
)

// Task implements engine.TxTasks.
func (t *tx) Task(id task.ID) (*task.Task, error) {
	if k, ok := t.rows.task(id); ok {
		return &k, nil
	}
	return t.sql.FindTask(context.Background(), id)
}

// Tasks implements engine.TxTasks.
func (t *tx) Tasks(ids []task.ID) ([]*task.Task, error) {
	tasks := make([]*task.Task, len(ids))
	for i, id := range ids {
		var err error
		if tasks[i], err = t.Task(id); err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

// Steps implements engine.TxTasks. There is nobody to wait for between two
// queries, so one for each step is quickest.
func (t *tx) Steps(of []engine.Family) ([][]*task.Step, error) {
	families := make([][]*task.Step, len(of))
	for i, f := range of {
		var err error
		if f.Ordinals == nil {
			families[i], err = t.sql.FindSteps(context.Background(), f.Task)
		} else {
			families[i], err = t.stepsAt(f)
		}
		if err != nil {
			return nil, err
		}
	}
	return families, nil
}

func (t *tx) stepsAt(f engine.Family) ([]*task.Step, error) {
	const query = `SELECT ` + store.StepColumns + ` FROM tasker_workflow_steps s WHERE s.id = ?`
	ordinals := f.Ordinals
	if !slices.IsSorted(ordinals) {
		ordinals = slices.Sorted(slices.Values(ordinals))
	}
	steps := make([]*task.Step, 0, len(ordinals))
	for _, n := range ordinals {
		err := t.conn.Query(context.Background(), query, []any{f.Task.Seq() + int64(n)}, func(row store.Row) error {
			s, err := t.sql.ScanStep(row)
			if err == nil && s.TaskID == f.Task { // past the end are another task's
				steps = append(steps, s)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// Overdue implements engine.TxTasks.
func (t *tx) Overdue(until task.Instant, limit int) ([]*task.Task, error) {
	const query = `SELECT ` + store.TaskColumns + ` FROM tasker_tasks t WHERE t.deadline_at > 0 AND t.deadline_at <= $1 ORDER BY t.deadline_at LIMIT $2`
	var tasks []*task.Task
	err := t.conn.Query(context.Background(), query, []any{int64(until), limit}, func(row store.Row) error {
		k, err := t.sql.ScanTask(row)
		tasks = append(tasks, k)
		return err
	})
	return tasks, err
}

// DeleteFinished implements engine.TxTasks.
func (t *tx) DeleteFinished(before task.Instant, limit int) (int, error) {
	tasks, err := t.finished(before, limit)
	if err != nil {
		return 0, err
	}
	for _, k := range tasks {
		if err := t.delete(k); err != nil {
			return 0, err
		}
	}
	return len(tasks), nil
}

// finished finds terminal tasks by template and state, in the order they were
// created: a task cannot have finished before that.
func (t *tx) finished(before task.Instant, limit int) ([]*task.Task, error) {
	const query = `SELECT ` + store.TaskColumns + ` FROM tasker_templates d JOIN tasker_tasks t ON t.def_id = d.def_id AND t.state = $1
 WHERE t.id < $2 AND t.finished_at < $3
 AND NOT EXISTS (SELECT 1 FROM tasker_tasks_dlq c WHERE c.task_uuid = t.id) LIMIT $4`
	var tasks []*task.Task
	for _, state := range task.States {
		if !state.Terminal() || len(tasks) >= limit {
			continue
		}
		args := []any{string(state), task.SeqFloor(before.Time()), int64(before), limit - len(tasks)}
		err := t.conn.Query(context.Background(), query, args, func(row store.Row) error {
			k, err := t.sql.ScanTask(row)
			tasks = append(tasks, k)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

// delete removes a task with all that belongs to it.
func (t *tx) delete(k *task.Task) error {
	id := k.ID.Seq()
	t.rows.dropTask(k.ID)
	for _, query := range []string{
		`DELETE FROM tasker_attempts WHERE task_id = $1`,
		`DELETE FROM tasker_task_events WHERE task_id = $1`,
		`DELETE FROM tasker_acts WHERE task_id = $1`,
		`DELETE FROM tasker_tasks_dlq WHERE task_uuid = $1`,
		`DELETE FROM tasker_task_watches WHERE task_id = $1`,
		`DELETE FROM tasker_tasks WHERE id = $1`,
	} {
		if _, err := t.conn.Exec(context.Background(), query, id); err != nil {
			return err
		}
	}
	const steps = `DELETE FROM tasker_workflow_steps WHERE id > $1 AND id <= $2`
	if _, err := t.conn.Exec(context.Background(), steps, id, id+int64(k.Counts.Total())); err != nil {
		return err
	}
	for _, tag := range k.Meta.Tags {
		if _, err := t.conn.Exec(context.Background(), `DELETE FROM tasker_task_tags WHERE tag = $1 AND task_id = $2`, tag, id); err != nil {
			return err
		}
	}
	if k.IdempotencyKey == "" {
		return nil
	}
	const key = `DELETE FROM tasker_idempotency_keys WHERE key = $1 AND task_id = $2 AND namespace = (SELECT namespace FROM tasker_templates WHERE def_id = $3)`
	_, err := t.conn.Exec(context.Background(), key, k.IdempotencyKey, id, k.DefID)
	return err
}

// Contexts implements engine.TxTasks.
func (t *tx) Contexts(ids []task.ID) ([][]byte, error) {
	contexts := make([][]byte, len(ids))
	for i, id := range ids {
		var err error
		if contexts[i], err = t.context(id); err != nil {
			return nil, err
		}
	}
	return contexts, nil
}

func (t *tx) context(id task.ID) ([]byte, error) {
	if document, ok := t.rows.contexts[id.Seq()]; ok {
		return document, nil
	}
	var document store.JSON
	err := t.conn.Query(context.Background(), `SELECT context FROM tasker_tasks WHERE id = $1`, []any{id.Seq()}, func(row store.Row) error {
		return row.Scan(&document)
	})
	return document, err
}
