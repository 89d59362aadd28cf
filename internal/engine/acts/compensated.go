package acts

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

func compensationOf(u *kernel.Unit, t *task.Task) (*task.Template, task.Compensation, error) {
	def, err := u.Rows.Template(t.DefID)
	if err != nil || !def.Compensated {
		return nil, task.Compensation{}, err
	}
	steps, err := u.Rows.Siblings(kernel.Family{Task: t.ID})
	if err != nil {
		return nil, task.Compensation{}, err
	}
	return def, def.CompensationOf(steps), nil
}

func compensationBegun(u *kernel.Unit, t *task.Task) (*task.Template, error) {
	def, now, err := compensationOf(u, t)
	if err != nil || !now.Begun {
		return nil, err
	}
	return def, nil
}

// compensationAllows refuses acts on compensation steps before they begin, and on other steps from the failure on,
// because they are or will be undone.
func compensationAllows(u *kernel.Unit, w kernel.Work) error {
	def, now, err := compensationOf(u, w.Task)
	if err != nil || def == nil {
		return err
	}
	switch spec := def.Spec(w.Step); {
	case spec.OnFailure && !now.Begun:
		return task.Errorf(task.WrongState, "the step %s runs only after the task has failed", spec.Name)
	case !spec.OnFailure && (now.Begun || now.Due() && !w.Task.State.Settled()):
		return errCompensated(w.Task)
	}
	return nil
}

func errCompensated(t *task.Task) error {
	return &task.Error{Code: task.WrongState,
		Message: fmt.Sprintf("the compensation of the task %s has begun; its other steps stay as they are", t.ID),
		Hint:    "repair its compensation steps, or cancel the task and submit it again"}
}
