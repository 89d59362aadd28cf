package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// InsertTasks requires templates and routes: the SQL stores have no foreign keys on the hot path, so this store finds
// such mistakes. Tasks come first: a step needs its task.
func (t *tx) InsertTasks(ctx context.Context, tasks []*task.Task, steps []*task.Step) error {
	for _, row := range tasks {
		switch {
		case t.s.tasks[row.ID] != nil:
			return task.Errorf(task.Internal, "insert task %s: it exists", row.ID)
		case t.s.templates[row.DefID] == nil:
			return task.Errorf(task.Internal, "insert task %s: its template %d does not exist", row.ID, row.DefID)
		}
		t.setTask(row.ID, cloneTask(row))
	}
	for _, row := range steps {
		switch {
		case t.s.steps[row.ID] != nil:
			return task.Errorf(task.Internal, "insert step %s: it exists", row.ID)
		case t.s.tasks[row.TaskID] == nil:
			return task.Errorf(task.Internal, "insert step %s: its task %s does not exist", row.ID, row.TaskID)
		case row.RouteID != 0 && t.s.routes[row.RouteID] == nil: // 0: no worker runs it
			return task.Errorf(task.Internal, "insert step %s: its route %d does not exist", row.ID, row.RouteID)
		}
		t.setStep(row.ID, cloneStep(row))
	}
	return nil
}

func (t *tx) Task(ctx context.Context, id task.ID) (*task.Task, error) {
	return cloneTask(t.s.tasks[id]), nil
}

func (t *tx) Tasks(ctx context.Context, ids []task.ID) ([]*task.Task, error) {
	out := make([]*task.Task, len(ids))
	for i, id := range ids {
		out[i] = cloneTask(t.s.tasks[id])
	}
	return out, nil
}

// Steps: nil ordinals mean all steps, in the order of the ordinals.
func (t *tx) Steps(ctx context.Context, of []engine.Family) ([][]*task.Step, error) {
	out := make([][]*task.Step, len(of))
	for i, f := range of {
		for _, step := range t.s.stepsOf[f.Task] {
			row := t.s.steps[step]
			if f.Ordinals == nil || slices.Contains(f.Ordinals, row.Ordinal) {
				out[i] = append(out[i], cloneStep(row))
			}
		}
	}
	return out, nil
}

// SaveTasks keeps fields fixed at insertion. The priority changes only with the meta, as in the SQL stores, which write
// both in one rare statement.
func (t *tx) SaveTasks(ctx context.Context, tasks []*task.Task) error {
	for _, from := range tasks {
		old := t.s.tasks[from.ID]
		if old == nil {
			return task.Errorf(task.Internal, "save task %s: it does not exist", from.ID)
		}
		if err := checkTaskMove(old, from); err != nil {
			return err
		}
		row := *old
		row.State, row.StateAt, row.Counts = from.State, from.StateAt, from.Counts
		row.FinishedAt, row.DeadlineAt = from.FinishedAt, from.DeadlineAt
		if from.Meta.Changed() {
			row.Priority = from.Priority
		}
		row.Meta = cloneMeta(from.Meta)
		t.setTask(row.ID, &row)
	}
	return nil
}

// SaveContext is separate because SaveTasks must not write a large document with every transition.
func (t *tx) SaveContext(ctx context.Context, from *task.Task) error {
	old := t.s.tasks[from.ID]
	if old == nil {
		return task.Errorf(task.Internal, "save the context of task %s: it does not exist", from.ID)
	}
	row := *old
	row.Context = slices.Clone(from.Context)
	t.setTask(row.ID, &row)
	return nil
}

// Overdue returns the earliest deadline first. A deadline becomes 0 with its act.
func (t *tx) Overdue(ctx context.Context, until task.Instant, limit int) ([]*task.Task, error) {
	rows := t.tasksWhere(func(row *task.Task) bool {
		return row.DeadlineAt != 0 && row.DeadlineAt <= until
	})
	slices.SortStableFunc(rows, func(a, b *task.Task) int { return cmp.Compare(a.DeadlineAt, b.DeadlineAt) })
	var out []*task.Task
	for _, row := range rows[:min(max(limit, 0), len(rows))] {
		out = append(out, cloneTask(row))
	}
	return out, nil
}

// DeleteFinished spares tasks in error, which wait for an operator, and tasks with cases. The earliest finished goes
// first.
func (t *tx) DeleteFinished(ctx context.Context, before, window task.Instant, limit int) (int, error) {
	rows := t.tasksWhere(func(row *task.Task) bool {
		return row.State.Terminal() && row.FinishedAt < before && len(t.s.casesOf(row.ID)) == 0 &&
			!row.KeyLives(window) && !t.s.parentLives(row)
	})
	slices.SortStableFunc(rows, func(a, b *task.Task) int { return cmp.Compare(a.FinishedAt, b.FinishedAt) })
	rows = rows[:min(max(limit, 0), len(rows))]
	for _, row := range rows {
		t.deleteTask(row.ID)
	}
	return len(rows), nil
}

// deleteTask keeps acts: the audit trail outlives its objects.
func (t *tx) deleteTask(id task.ID) {
	if t.s.tasks[id].Meta.HasChildren {
		t.dropChildren(t.s.stepsOf[id])
	}
	for _, step := range slices.Clone(t.s.stepsOf[id]) {
		if _, ok := t.s.checkpoints[step]; ok {
			drop(t, checkpointsTable, step)
		}
		if t.s.logs[step] != nil {
			drop(t, logsTable, step)
		}
		t.setStep(step, nil)
	}
	row := t.s.tasks[id]
	name := engine.KeyName{Namespace: t.s.template(row.DefID).Namespace, Key: row.IdempotencyKey}
	// The key may belong to a younger task.
	if t.s.keys[name].Task == id {
		drop(t, keysTable, name)
	}
	if u := row.Meta.Unique; u != nil {
		name.Key = u.Key
		if t.s.unique[name].Task == id {
			drop(t, uniqueTable, name)
		}
	}
	drop(t, attemptsTable, id)
	drop(t, eventsTable, id)
	for _, c := range t.s.casesOf(id) {
		drop(t, casesTable, c.ID)
	}
	drop(t, watchesTable, id)
	t.setTask(id, nil)
}

func (t *tx) tasksWhere(match func(*task.Task) bool) []*task.Task {
	var out []*task.Task
	for _, id := range t.s.taskOrder {
		if row := t.s.tasks[id]; match(row) {
			out = append(out, row)
		}
	}
	return out
}

func (t *tx) Contexts(ctx context.Context, ids []task.ID) ([][]byte, error) {
	contexts := make([][]byte, len(ids))
	for i, id := range ids {
		if row, ok := t.s.tasks[id]; ok {
			contexts[i] = slices.Clone(row.Context)
		}
	}
	return contexts, nil
}
