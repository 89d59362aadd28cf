package kernel

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// TemplateOf returns a template. A deleted or unreadable one has a stand-in without steps, with the reason in Unread.
func (e *Kernel) TemplateOf(ctx context.Context, def int64) (*task.Template, error) {
	return e.Catalog.template(ctx, def, e.Store.FindTemplateByDef)
}

// RouteOf returns a route. A deleted one has a stand-in with the reason in Unread.
func (e *Kernel) RouteOf(ctx context.Context, id int64) (*task.Route, error) {
	if id == Unrouted {
		return &task.Route{}, nil
	}
	if r, err := e.Catalog.findRoute(ctx, id); err != nil || r != nil {
		return r, err
	}
	return &task.Route{ID: id, Unread: fmt.Sprintf("its route, with key %d, is gone", id)}, nil
}

// Task returns a task, or NotFound. With wait > 0 it blocks until the task is settled, wait (at most
// Leases.MaxLongPoll) is over or ctx ends, which is no error. Unavailable: the store is lost meanwhile.
func (e *Kernel) Task(ctx context.Context, id task.ID, wait time.Duration) (*task.Task, error) {
	if wait <= 0 {
		return e.FindTask(ctx, id)
	}
	timer := time.NewTimer(min(wait, e.Cfg.Leases.MaxLongPoll))
	defer timer.Stop()
	for {
		// before the read, so that no change is missed
		settled, stop := e.waiters.awaitTask(id)
		t, err := e.FindTask(ctx, id)
		if err != nil || t.State.Settled() {
			stop()
			return t, err
		}
		select {
		case s := <-settled:
			if s.err != nil {
				return nil, fmt.Errorf("wait for task %s: %w", id, s.err)
			}
			if now := s.task; now != nil && now.Meta.ContextEdits == t.Meta.ContextEdits {
				row := *now // other callers may share it
				row.Context = t.Context
				return &row, nil
			}
		case <-timer.C:
			stop()
			return t, nil
		case <-ctx.Done():
			stop()
			return t, nil
		}
	}
}

func (e *Kernel) FindTask(ctx context.Context, id task.ID) (*task.Task, error) {
	t, err := e.Store.FindTask(ctx, id)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, NoTask(id)
	}
	switch reached, err := e.Reaches(ctx, t.DefID); {
	case err != nil:
		return nil, err
	case !reached:
		return nil, NoTask(id)
	}
	return t, nil
}

// Tasks returns a page, newest first, and the ID to continue below: zero at the end. The page ends early at
// Limits.PageBytes. Invalid: the limit is not 1 to Limits.PageItems.
func (e *Kernel) Tasks(ctx context.Context, f TaskFilter) ([]*task.Task, task.ID, error) {
	if f.Limit < 1 || f.Limit > e.Cfg.Limits.PageItems {
		return nil, task.ID{}, task.Errorf(task.Invalid, "the limit of a page must be 1 to %d, not %d",
			e.Cfg.Limits.PageItems, f.Limit)
	}
	f.Bytes = e.Cfg.Limits.PageBytes
	return e.Store.ListTasks(ctx, f)
}

// Steps returns all steps of a task by ordinal with their results, whatever their size, or NotFound.
func (e *Kernel) Steps(ctx context.Context, id task.ID) (*task.Task, []*task.Step, error) {
	t, err := e.FindTask(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	steps, err := e.Store.FindSteps(ctx, id)
	if err == nil {
		e.Queue.Show(ctx, steps)
	}
	return t, steps, err
}

// BareSteps returns the steps of each task by ordinal, without results, in one query; none for a deleted task. It
// shows the dispatcher's leases.
func (e *Kernel) BareSteps(ctx context.Context, tasks []*task.Task) ([][]*task.Step, error) {
	of, place := make([]Sized, len(tasks)), make(map[task.ID]int, len(tasks))
	for i, t := range tasks {
		of[i], place[t.ID] = Sized{t.ID, t.Counts.Total()}, i
	}
	found, err := e.Store.BareSteps(ctx, of)
	if err != nil {
		return nil, err
	}
	e.Queue.Show(ctx, found)
	out := make([][]*task.Step, len(tasks))
	for _, s := range found {
		i := place[s.TaskID]
		out[i] = append(out[i], s)
	}
	for _, steps := range out {
		slices.SortFunc(steps, func(a, b *task.Step) int { return a.Ordinal - b.Ordinal })
	}
	return out, nil
}

// ListSteps returns all steps of a task by ordinal, or NotFound, with requested results in template order up to the
// bytes of a page. omitted are the steps without their results.
func (e *Kernel) ListSteps(ctx context.Context, id task.ID,
	results bool,
) (t *task.Task, steps []*task.Step, omitted map[task.ID]bool, err error) {
	if t, err = e.FindTask(ctx, id); err != nil {
		return nil, nil, nil, err
	}
	all, err := e.BareSteps(ctx, []*task.Task{t})
	if err != nil {
		return nil, nil, nil, err
	}
	steps, omitted = all[0], map[task.ID]bool{}
	var over []task.ID // may have a result
	for _, s := range steps {
		if s.State.Satisfies() {
			over, omitted[s.ID] = append(over, s.ID), true
		}
	}
	if !results {
		return t, steps, omitted, nil
	}
	found, err := e.Store.Results(ctx, over, e.Cfg.Limits.PageBytes)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, s := range steps {
		if result, looked := found[s.ID]; looked {
			s.Result = result
			delete(omitted, s.ID)
		}
	}
	return t, steps, omitted, nil
}

// Records are the attempts, events and acts of a task.
type Records struct {
	Attempts []task.Attempt
	Events   []task.Event
	Acts     []task.Act
}

// Records returns attempts, events and acts of a task, oldest first. Later lists may be more recent.
func (e *Kernel) Records(ctx context.Context, id task.ID) (Records, error) {
	var r Records
	var err error
	if r.Attempts, err = e.Store.FindAttempts(ctx, id); err != nil {
		return r, err
	}
	if r.Events, err = e.Store.FindEvents(ctx, id); err != nil {
		return r, err
	}
	r.Acts, err = e.ActStore.FindActs(ctx, id)
	return r, err
}

// NoTask is the same for a task out of the key's reach, so that IDs cannot be probed.
func NoTask(id task.ID) error { return task.Errorf(task.NotFound, "there is no task %s", id) }
