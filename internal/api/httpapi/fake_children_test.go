package httpapi_test

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

func (f *fake) StepChildren(_ context.Context, task, step uuid.UUID, _ operate.ChildFilter,
) (*operate.ChildPage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return nil, f.err
	case task != taskID || step != stepID:
		return nil, tasker.Errorf(tasker.CodeNotFound, "the task %s has no step %s", task, step)
	}
	return &operate.ChildPage{Children: []operate.Child{{Index: 0, TaskUUID: &otherID, State: operate.ChildDone},
		{Index: 1, State: operate.ChildGivenUp, Reason: "refused <it>"}}, Next: 2}, nil
}
