package postgres

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

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
