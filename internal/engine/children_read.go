package engine

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/task"
)

// FanOut returns the progress of a step through its child tasks; nil for a step that has none, or has not begun.
func (e *Engine) FanOut(ctx context.Context, step task.ID) (*task.FanOut, error) {
	list, err := e.childReads.FanOuts(ctx, []task.ID{step})
	if err != nil {
		return nil, fmt.Errorf("read the children of step %s: %w", step, err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list[0], nil
}

// Children returns children of a step of a task, by index. NotFound: there is no such step, or the key does not reach
// the task.
func (e *Engine) Children(ctx context.Context, id, step task.ID, f ChildFilter) ([]Child, error) {
	if _, err := e.findTask(ctx, id); err != nil {
		return nil, err
	}
	steps, err := e.store.FindSteps(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		if s.ID == step {
			return e.childReads.ListChildren(ctx, step, f)
		}
	}
	return nil, task.Errorf(task.NotFound, "the task %s has no step %s", id, step)
}
