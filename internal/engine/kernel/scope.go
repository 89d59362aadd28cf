package kernel

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/task"
)

// An API key may be limited to namespaces. The request's context has the limits, and each verb checks them on the row
// that it loads anyway, in the same transaction. Rows out of reach are like missing ones, so that IDs cannot be
// probed. A context without a key has no limits.

func (e *Kernel) Reaches(ctx context.Context, def int64) (bool, error) {
	key := access.From(ctx)
	if !key.Limited() {
		return true, nil
	}
	t, err := e.TemplateOf(ctx, def)
	return err == nil && key.Reaches(t.Namespace), err
}

func (u *Unit) Reaches(def int64) (bool, error) {
	key := access.From(u.Ctx)
	if !key.Limited() {
		return true, nil
	}
	t, err := u.Rows.Template(def)
	return err == nil && key.Reaches(t.Namespace), err
}

// ReachedWorker is Worker for a request that acts for the worker. NotFound also if the key does not reach all of its
// namespaces: its ID would give work of others. These never change, so the cached row is enough.
func (e *Kernel) ReachedWorker(ctx context.Context, id task.ID) (*task.Worker, error) {
	w, err := e.Worker(ctx, id)
	if err != nil {
		return nil, err
	}
	key := access.From(ctx)
	beyond := func(namespace string) bool { return !key.Reaches(namespace) }
	if key.Limited() && (len(w.Namespaces) == 0 || slices.ContainsFunc(w.Namespaces, beyond)) {
		return nil, noWorker(id)
	}
	return w, nil
}

// ReachedTask returns the task, locked, so that it keeps its namespace.
func (u *Unit) ReachedTask(id task.ID) (*task.Task, error) {
	t, err := u.Rows.Task(id)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, NoTask(id)
	}
	switch reached, err := u.Reaches(t.DefID); {
	case err != nil:
		return nil, err
	case !reached:
		return nil, NoTask(id)
	}
	return t, nil
}

// ReachedStep returns a step, or NotFound, which names the step only if the task is within reach.
func (u *Unit) ReachedStep(taskID, stepID task.ID) (Work, error) {
	w, err := u.Rows.stepOf(taskID, stepID)
	if !access.From(u.Ctx).Limited() || err != nil && task.CodeOf(err) != task.NotFound {
		return w, err
	}
	if _, refused := u.ReachedTask(taskID); refused != nil { // already loaded
		return Work{}, refused
	}
	return w, err
}

func Passing(namespaces []string) func(namespace string) bool {
	return func(namespace string) bool { return len(namespaces) == 0 || slices.Contains(namespaces, namespace) }
}
