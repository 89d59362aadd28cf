package cases

import (
	"slices"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A task is in error only when no step can run, but a branch may wait a month for an approval, a signal or a time. So
// the task gets its case once only such waits are left.

func mayBeLeft(u *kernel.Unit, w kernel.Work) {
	if w.Task.Counts.Failed == 0 || w.Step.Queue != task.NoQueue && w.Step.State != task.StepWaiting {
		return
	}
	cc := CaseSlot.Of(u)
	cc.left = kernel.With(cc.left, w.Task)
}

func (cc *CaseChanges) openLeft() error {
	for t := range cc.left {
		if t.State != task.StepsInProcess || t.Counts.Waiting > 0 || t.Meta.Case == task.HasPending ||
			!Of(cc.U.E).OpensCase(t) {
			continue
		}
		def, err := cc.U.Rows.Template(t.DefID)
		if err != nil {
			return err
		}
		steps, err := cc.U.Rows.Siblings(kernel.Family{Task: t.ID})
		if err != nil {
			return err
		}
		worked := slices.ContainsFunc(steps, func(s *task.Step) bool {
			return s.Queue != task.NoQueue && (s.State != task.StepWaiting || def.Spec(s).Wait == nil)
		})
		if !worked {
			cc.openings = append(cc.openings, &Opening{Task: t, State: t.State, Since: t.StateAt,
				Reason: task.ReasonMaxRetries})
		}
	}
	cc.left = nil
	return nil
}
