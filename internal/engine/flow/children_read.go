package flow

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// FanOut returns the progress of a step's child tasks; nil for none, or not begun.
func (e *Room) FanOut(ctx context.Context, step task.ID) (*task.FanOut, error) {
	list, err := e.childReads.FanOuts(ctx, []task.ID{step})
	if err != nil {
		return nil, fmt.Errorf("read the children of step %s: %w", step, err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list[0], nil
}

// Children returns children of a step, by index. NotFound: no such step, or the task is out of the key's reach.
func (e *Room) Children(ctx context.Context, id, step task.ID, f kernel.ChildFilter) ([]kernel.Child, error) {
	if _, err := e.FindTask(ctx, id); err != nil {
		return nil, err
	}
	steps, err := e.Store.FindSteps(ctx, id)
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

// ChildFailures returns the last failure of each child in error, by task. Children share their parent's namespace,
// and so the caller's reach.
func (e *Room) ChildFailures(ctx context.Context, children []kernel.Child) (map[task.ID]*task.Failure, error) {
	var of []kernel.Stop
	for _, c := range children {
		if c.State == task.ChildErrored && !c.Task.IsZero() {
			of = append(of, kernel.Stop{Task: c.Task})
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	attempts, err := e.Evidences.LastFailures(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("read the failures of children: %w", err)
	}
	failures := map[task.ID]*task.Failure{}
	for i := range attempts {
		failures[attempts[i].TaskID] = attempts[i].Failure
	}
	return failures, nil
}
