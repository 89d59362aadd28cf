package engine

import "github.com/taskerhq/tasker/internal/model/task"

// Registration refuses a template whose steps wait for each other. A task of one stored otherwise runs the steps that
// can run, and then gets a case that names the cycle.

func cyclesFeature() feature {
	return feature{
		name: "cycles",
		judged: func(u *unit, t *task.Task, before task.Task) (bool, error) {
			stuck, err := inCycle(u, t)
			if stuck && err == nil {
				err = endCycle(u, t, before)
			}
			return stuck, err
		},
	}
}

// inCycle checks only states in which nothing runs, so a sound template costs one comparison.
func inCycle(u *unit, t *task.Task) (bool, error) {
	if t.State != task.WaitingForDependencies && t.State != task.EnqueuingSteps {
		return false, nil
	}
	def, err := u.rows.template(t.DefID)
	if err != nil || def.Cycle == "" {
		return false, err
	}
	steps, err := u.rows.siblings(Family{Task: t.ID})
	for _, s := range steps {
		if s.Queue != task.NoQueue {
			return false, err
		}
	}
	return true, err
}

func endCycle(u *unit, t *task.Task, before task.Task) error {
	def, err := u.rows.template(t.DefID)
	if err != nil {
		return err
	}
	t.TimeOut(u.now)
	if before.State == task.Errored { // an operator's act has not helped
		t.FinishedAt, t.StateAt = before.FinishedAt, before.StateAt
		return nil
	}
	caseSlot.of(u).cycled(t, before, def)
	u.left(t, before.State, def.Cycle)
	return nil
}

func (cc *caseChanges) cycled(t *task.Task, before task.Task, def *task.Template) {
	if cc.u.e.opensCase(t) {
		cc.openings = append(cc.openings, &opening{task: t, state: before.State, since: before.StateAt,
			reason: task.ReasonCycle, cause: task.CauseCycle, detail: def.Cycle})
	}
}
