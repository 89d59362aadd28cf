package sqlite

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// Task implements engine.Tx. A cached task has no context; Contexts reads it.
func (t *tx) Task(ctx context.Context, id task.ID) (*task.Task, error) {
	if k, ok := t.rows.task(id); ok {
		return &k, nil
	}
	return t.sql.FindTask(ctx, id)
}

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

// Steps implements engine.Tx. Steps by ordinal come from the cache; the rest is read together.
func (t *tx) Steps(ctx context.Context, of []engine.Family) ([][]*task.Step, error) {
	families := make([][]*task.Step, len(of))
	var missing []int64
	for i, f := range of {
		if f.Ordinals == nil {
			var err error
			if families[i], err = t.sql.FindSteps(ctx, f.Task); err != nil {
				return nil, err
			}
			continue
		}
		families[i] = make([]*task.Step, len(f.Ordinals))
		for j, n := range sorted(f.Ordinals) {
			if s, ok := t.rows.steps[rowOf(f.Task, n)]; ok && s.TaskID == f.Task {
				families[i][j] = &s
			} else {
				missing = append(missing, rowOf(f.Task, n))
			}
		}
	}
	if len(missing) == 0 {
		return families, nil
	}
	found, err := t.readSteps(ctx, missing)
	if err != nil {
		return nil, err
	}
	for i, f := range of {
		for j, n := range sorted(f.Ordinals) {
			if s := found[rowOf(f.Task, n)]; families[i][j] == nil && s != nil && s.TaskID == f.Task {
				families[i][j] = s
			}
		}
		// A row past the end of a task is missing, or another task's.
		families[i] = slices.DeleteFunc(families[i], func(s *task.Step) bool { return s == nil })
	}
	return families, nil
}

func rowOf(of task.ID, ordinal int) int64 { return of.Seq() + int64(ordinal) }

func sorted(ordinals []int) []int {
	if slices.IsSorted(ordinals) {
		return ordinals
	}
	return slices.Sorted(slices.Values(ordinals))
}

// readSteps reads steps by their rowids: one query for up to fused rows, since a query costs more than a row.
func (t *tx) readSteps(ctx context.Context, ids []int64) (map[int64]*task.Step, error) {
	found := make(map[int64]*task.Step, len(ids))
	for len(ids) > 0 {
		where, args, n := oneOf(ids)
		err := t.conn.Query(ctx, `SELECT `+store.StepColumns+` FROM tasker_workflow_steps s WHERE s.id `+where, args,
			func(row store.Row) error {
				s, err := t.sql.ScanStep(row)
				if err == nil {
					found[s.ID.Seq()] = s
				}
				return err
			})
		if err != nil {
			return nil, err
		}
		ids = ids[n:]
	}
	return found, nil
}

// SaveContext implements engine.Tx. The cached context is dropped and not replaced: an edit is rare.
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
