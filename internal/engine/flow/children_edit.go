package flow

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine/acts"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A reset step takes an edited context to its children: unsubmitted ones get it, and those in error are edited and
// replayed, recursively.

type childEdit struct {
	acts.ContextEdit
	seen *task.Task // as it was when the context was checked
}

// planChildEdit returns nil without an edited context, or if the child was edited since. A refusal becomes the fault
// of the plan.
func (e *Room) planChildEdit(ctx context.Context, p *childPlan, c kernel.Child) (*childEdit, error) {
	if p.begin == nil {
		return nil, nil
	}
	t, err := e.Store.FindTask(ctx, c.Task)
	if err != nil || t == nil || t.State != task.Errored {
		return nil, err
	}
	if m := &t.Meta; m.EditedBy != kernel.System && m.EditedAt >= p.parent.Meta.EditedAt {
		return nil, nil
	}
	items, err := e.itemsAt(ctx, p, c.Index)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	changed, fault, err := e.contextOf(ctx, p, c.Index, items[0])
	if err != nil {
		return nil, err
	}
	if fault != nil {
		p.begin.fault = fault
		return nil, nil
	}
	edit := &childEdit{acts.ContextEdit{Context: changed, Actor: kernel.System,
		Reason: "the context of its parent was edited", Replay: true, ResetAttempts: true}, t}
	_, err = acts.Of(e.Kernel).NewContext(ctx, t, &edit.ContextEdit)
	switch task.CodeOf(err) {
	case task.Invalid, task.Conflict:
		p.begin.fault = childFault(CodeChildrenRefused, "the edited context does not fit child %d (task %s): %v", c.Index,
			c.Task, err)
		return nil, nil
	case task.WrongState:
		return nil, nil
	}
	return edit, err
}
