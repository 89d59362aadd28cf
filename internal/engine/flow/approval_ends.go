package flow

import (
	"cmp"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// approvalEnds are the approvals that end in a unit. Each is published once, when the unit is saved and actor and
// reason are final.
type approvalEnds struct {
	u       *kernel.Unit
	ended   []kernel.Work
	answers map[task.ID]approvalEnd // by step; answered by an operator or expired
}

var approvalSlot = kernel.NewSlot(func(u *kernel.Unit) *approvalEnds { return &approvalEnds{u: u} })

func ApprovalsFeature() kernel.Feature {
	return kernel.Feature{
		Name: "approvals",
		Stages: []kernel.Stage{{Rank: kernel.RankApprovals, Name: "approvals", Locks: []string{"inbox_events"},
			Save: approvalSlot.Save((*approvalEnds).tell)}},
	}
}

type approvalEnd struct{ result, by, reason string }

func (a *approvalEnds) decided(w kernel.Work, result, by, reason string) {
	if a.answers == nil {
		a.answers = map[task.ID]approvalEnd{}
	}
	a.answers[w.Step.ID] = approvalEnd{result, by, reason}
}

func (a *approvalEnds) tell() error {
	u := a.u
	ended := a.ended
	a.ended = nil
	for _, w := range ended {
		t, err := u.Rows.Template(w.Step.DefID)
		if err != nil {
			return err
		}
		end, answered := a.answers[w.Step.ID]
		if !answered {
			end = unanswered(u, w)
		}
		spec := t.Spec(w.Step)
		row := &task.StepWait{Step: w.Step.ID, Task: w.Task.ID, Namespace: t.Namespace, Template: t.Name,
			StepName: spec.Name}
		ev := deadletter.ApprovalHappened(row, spec.Wait.Approval, u.Now).Answered(end.result, end.by, end.reason)
		if err := kernel.TellEvent(u, ev); err != nil {
			return err
		}
	}
	return nil
}

func unanswered(u *kernel.Unit, w kernel.Work) approvalEnd {
	switch {
	case w.Step.State == task.StepCancelled:
		m := &w.Task.Meta
		return approvalEnd{task.DecisionCancelled, cmp.Or(m.CancelledBy, kernel.System), m.CancelReason}
	case w.Step.State.Satisfies():
		for _, act := range u.Records.Acts {
			if act.StepID == w.Step.ID {
				return approvalEnd{task.DecisionResolved, act.Actor, act.Reason}
			}
		}
		return approvalEnd{task.DecisionResolved, kernel.System, ""}
	}
	end := approvalEnd{task.DecisionTimedOut, kernel.System, "the time of its task is over"}
	for _, attempt := range u.Records.Attempts {
		if attempt.StepID == w.Step.ID && attempt.Failure != nil {
			end.reason = attempt.Failure.Message
		}
	}
	return end
}
