package sqlite

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/task"
)

// Task implements engine.Tx.
// A cached task has no context; Contexts reads it.
func (t *tx) Task(ctx context.Context, id task.ID) (*task.Task, error) {
	if k, ok := t.rows.task(id); ok {
		return &k, nil
	}
	return t.sql.FindTask(ctx, id)
}

// Tasks implements engine.Tx.
func (t *tx) Tasks(ctx context.Context, ids []task.ID) ([]*task.Task, error) {
	tasks := make([]*task.Task, len(ids))
	for i, id := range ids {
		var err error
		if tasks[i], err = t.Task(ctx, id); err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

// Steps implements engine.Tx. No round trip separates two queries, so one query per step is fastest.
func (t *tx) Steps(ctx context.Context, of []engine.Family) ([][]*task.Step, error) {
	families := make([][]*task.Step, len(of))
	for i, f := range of {
		var err error
		if f.Ordinals == nil {
			families[i], err = t.sql.FindSteps(ctx, f.Task)
		} else {
			families[i], err = t.stepsAt(ctx, f)
		}
		if err != nil {
			return nil, err
		}
	}
	return families, nil
}

// stepsAt returns steps by ordinal, in ascending order, cached or read. A step's rowid is that of its task plus its
// ordinal.
func (t *tx) stepsAt(ctx context.Context, f engine.Family) ([]*task.Step, error) {
	const query = `SELECT ` + store.StepColumns + ` FROM tasker_workflow_steps s WHERE s.id = ?`
	ordinals := f.Ordinals
	if !slices.IsSorted(ordinals) {
		ordinals = slices.Sorted(slices.Values(ordinals))
	}
	steps := make([]*task.Step, 0, len(ordinals))
	for _, n := range ordinals {
		if s, ok := t.rows.steps[f.Task.Seq()+int64(n)]; ok && s.TaskID == f.Task {
			steps = append(steps, &s)
			continue
		}
		err := t.conn.Query(ctx, query, []any{f.Task.Seq() + int64(n)}, func(row store.Row) error {
			s, err := t.sql.ScanStep(row)
			if err == nil && s.TaskID == f.Task { // rows past the end belong to another task
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

// SaveContext implements engine.Tx. The cached context is dropped and not replaced: an edit is
// rare.
func (t *tx) SaveContext(ctx context.Context, k *task.Task) error {
	t.rows.dropContext(k.ID)
	_, err := t.conn.Exec(ctx, `UPDATE tasker_tasks SET context = ? WHERE id = ?`, jsonText(k.Context), k.ID.Seq())
	return err
}

// Overdue implements engine.Tx. A task that settled in time keeps its deadline until the engine finds it here and
// clears it.
func (t *tx) Overdue(ctx context.Context, until task.Instant, limit int) ([]*task.Task, error) {
	const query = `SELECT ` + store.TaskColumns +
		` FROM tasker_tasks t WHERE t.deadline_at > 0 AND t.deadline_at <= $1 ORDER BY t.deadline_at LIMIT $2`
	var tasks []*task.Task
	err := t.conn.Query(ctx, query, []any{int64(until), limit}, func(row store.Row) error {
		k, err := t.sql.ScanTask(row)
		tasks = append(tasks, k)
		return err
	})
	return tasks, err
}

// Contexts implements engine.Tx.
func (t *tx) Contexts(ctx context.Context, ids []task.ID) ([][]byte, error) {
	contexts := make([][]byte, len(ids))
	for i, id := range ids {
		var err error
		if contexts[i], err = t.context(ctx, id); err != nil {
			return nil, err
		}
	}
	return contexts, nil
}

// context returns one context, cached or read.
func (t *tx) context(ctx context.Context, id task.ID) ([]byte, error) {
	if document, ok := t.rows.contexts[id.Seq()]; ok {
		return document, nil
	}
	var document store.JSON
	err := t.conn.Query(ctx, `SELECT context FROM tasker_tasks WHERE id = $1`, []any{id.Seq()}, func(row store.Row) error {
		return row.Scan(&document)
	})
	return document, err
}
