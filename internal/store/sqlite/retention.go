package sqlite

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// DropKeys implements engine.KeyStore, the earliest expired first.
func (*Store) DropKeys(ctx context.Context, within engine.Tx, before task.Instant, limit int) (int, error) {
	t := in(within)
	const query = `DELETE FROM tasker_idempotency_keys WHERE (namespace, key) IN
 (SELECT namespace, key FROM tasker_idempotency_keys WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`
	n, err := t.conn.Exec(ctx, query, int64(before), limit)
	return int(n), err
}

// ForgetWorkers implements engine.Tx. Numbers of workers are not reused: the column is AUTOINCREMENT.
func (t *tx) ForgetWorkers(ctx context.Context, before task.Instant, limit int) (int, error) {
	const query = `DELETE FROM tasker_workers WHERE worker_no IN
 (SELECT worker_no FROM tasker_workers WHERE state = 'dead' AND last_heartbeat < $1 ORDER BY worker_no LIMIT $2)`
	n, err := t.conn.Exec(ctx, query, int64(before), limit)
	return int(n), err
}

func (t *tx) DeleteFinished(ctx context.Context, before, window task.Instant, limit int) (int, error) {
	tasks, err := t.finished(ctx, before, window, limit)
	if err != nil {
		return 0, err
	}
	for _, k := range tasks {
		if err := t.delete(ctx, k); err != nil {
			return 0, err
		}
	}
	return len(tasks), nil
}

// finished finds terminal tasks without cases and without a live parent. It searches by template and state, which have
// an index, by creation, and only tasks created before the limit: a task cannot finish before it is created. An index
// by the time of finishing would be a cost for every task.
func (t *tx) finished(ctx context.Context, before, window task.Instant, limit int) ([]*task.Task, error) {
	const query = `SELECT ` + store.TaskColumns +
		` FROM tasker_templates d JOIN tasker_tasks t ON t.def_id = d.def_id AND t.state = $1
 WHERE t.id < $2 AND t.finished_at < $3
 AND NOT EXISTS (SELECT 1 FROM tasker_tasks_dlq c WHERE c.task_uuid = t.id)
 AND (t.idempotency_key IS NULL OR t.created_at <= $4) AND (t.finished_at <= $4 OR t.meta ->> 'unique' IS NULL)
 AND ` + store.NoParentLives + ` LIMIT $5`
	var tasks []*task.Task
	for _, state := range task.States {
		if !state.Terminal() || len(tasks) >= limit {
			continue
		}
		args := []any{string(state), task.SeqFloor(before.Time()), int64(before), int64(window), limit - len(tasks)}
		err := t.conn.Query(ctx, query, args, func(row store.Row) error {
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

// delete deletes a task with all its rows except acts. The rowids of its steps are the range after its own.
func (t *tx) delete(ctx context.Context, k *task.Task) error {
	id := k.ID.Seq()
	t.rows.dropTask(k.ID)
	for _, query := range []string{
		`DELETE FROM tasker_attempts WHERE task_id = $1`,
		`DELETE FROM tasker_task_events WHERE task_id = $1`,
		`DELETE FROM tasker_tasks_dlq WHERE task_uuid = $1`,
		`DELETE FROM tasker_task_watches WHERE task_id = $1`,
		`DELETE FROM tasker_tasks WHERE id = $1`,
	} {
		if _, err := t.conn.Exec(ctx, query, id); err != nil {
			return err
		}
	}
	const steps = `DELETE FROM tasker_workflow_steps WHERE id > $1 AND id <= $2`
	if _, err := t.conn.Exec(ctx, steps, id, id+int64(k.Counts.Total())); err != nil {
		return err
	}
	if len(k.Meta.Checkpoints) > 0 {
		const checkpoints = `DELETE FROM tasker_checkpoints WHERE step_id > $1 AND step_id <= $2`
		if _, err := t.conn.Exec(ctx, checkpoints, id, id+int64(k.Counts.Total())); err != nil {
			return err
		}
	}
	if k.Meta.Logged {
		const logs = `DELETE FROM tasker_attempt_logs WHERE step_id > $1 AND step_id <= $2`
		if _, err := t.conn.Exec(ctx, logs, id, id+int64(k.Counts.Total())); err != nil {
			return err
		}
	}
	for _, tag := range k.Meta.Tags {
		if _, err := t.conn.Exec(ctx, `DELETE FROM tasker_task_tags WHERE tag = $1 AND task_id = $2`, tag, id); err != nil {
			return err
		}
	}
	if u := k.Meta.Unique; u != nil {
		const unique = `DELETE FROM tasker_unique_keys WHERE key = $1 AND task_id = $2 AND namespace = (SELECT namespace
  FROM tasker_templates WHERE def_id = $3)`
		if _, err := t.conn.Exec(ctx, unique, u.Key, id, k.DefID); err != nil {
			return err
		}
	}
	if k.Meta.HasChildren {
		for _, query := range store.DeleteFamilies {
			if _, err := t.conn.Exec(ctx, query, id); err != nil {
				return err
			}
		}
	}
	if k.IdempotencyKey == "" {
		return nil
	}
	const key = `DELETE FROM tasker_idempotency_keys WHERE key = $1 AND task_id = $2 AND namespace = (SELECT namespace
  FROM tasker_templates WHERE def_id = $3)`
	_, err := t.conn.Exec(ctx, key, k.IdempotencyKey, id, k.DefID)
	return err
}
