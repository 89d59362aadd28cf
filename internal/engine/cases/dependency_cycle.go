package cases

import (
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Registration refuses a template whose steps wait for each other. A task of one stored otherwise runs the steps that
// can run, and then gets a case that names the cycle.

func CyclesFeature() kernel.Feature {
	return kernel.Feature{
		Name: "cycles",
		Judged: func(u *kernel.Unit, t *task.Task, before task.Task) (bool, error) {
			stuck, err := inCycle(u, t)
			if stuck && err == nil {
				err = endCycle(u, t, before)
			}
			return stuck, err
		},
	}
}

// inCycle checks only states in which nothing runs, so a sound template costs one comparison.
func inCycle(u *kernel.Unit, t *task.Task) (bool, error) {
	if t.State != task.WaitingForDependencies && t.State != task.EnqueuingSteps {
		return false, nil
	}
	def, err := u.Rows.Template(t.DefID)
	if err != nil || def.Cycle == "" {
		return false, err
	}
	steps, err := u.Rows.Siblings(kernel.Family{Task: t.ID})
	for _, s := range steps {
		if s.Queue != task.NoQueue {
			return false, err
		}
	}
	return true, err
}

func endCycle(u *kernel.Unit, t *task.Task, before task.Task) error {
	def, err := u.Rows.Template(t.DefID)
	if err != nil {
		return err
	}
	t.TimeOut(u.Now)
	if before.State == task.Errored { // an operator's act has not helped
		t.FinishedAt, t.StateAt = before.FinishedAt, before.StateAt
		return nil
	}
	CaseSlot.Of(u).Cycled(t, before, def)
	u.Left(t, before.State, def.Cycle)
	return nil
}

func (cc *CaseChanges) Cycled(t *task.Task, before task.Task, def *task.Template) {
	if Of(cc.U.E).OpensCase(t) {
		cc.openings = append(cc.openings, &Opening{Task: t, State: before.State, Since: before.StateAt,
			Reason: task.ReasonCycle, Cause: task.CauseCycle, Detail: def.Cycle})
	}
}
