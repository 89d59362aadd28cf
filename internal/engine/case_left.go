package engine

import (
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// A task is in error only when no step can run, but a branch may wait a month for an approval, a signal or a time. So
// the task gets its case once only such waits are left.

func mayBeLeft(u *unit, w Work) {
	if w.Task.Counts.Failed == 0 || w.Step.Queue != task.NoQueue && w.Step.State != task.StepWaiting {
		return
	}
	cc := caseSlot.of(u)
	cc.left = with(cc.left, w.Task)
}

func (cc *caseChanges) openLeft() error {
	for t := range cc.left {
		if t.State != task.StepsInProcess || t.Counts.Waiting > 0 || t.Meta.Case == task.HasPending || !cc.u.e.opensCase(t) {
			continue
		}
		def, err := cc.u.rows.template(t.DefID)
		if err != nil {
			return err
		}
		steps, err := cc.u.rows.siblings(Family{Task: t.ID})
		if err != nil {
			return err
		}
		worked := slices.ContainsFunc(steps, func(s *task.Step) bool {
			return s.Queue != task.NoQueue && (s.State != task.StepWaiting || def.Spec(s).Wait == nil)
		})
		if !worked {
			cc.openings = append(cc.openings, &opening{task: t, state: t.State, since: t.StateAt,
				reason: task.ReasonMaxRetries})
		}
	}
	cc.left = nil
	return nil
}
