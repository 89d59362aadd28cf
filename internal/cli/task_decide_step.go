package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

func newTaskApproveStep(s *session) *cobra.Command {
	return newDecision(s, &stepAct{
		use:   "approve-step TASK_UUID STEP",
		short: "Approve a step that waits for an approval",
		long: `Approve a step that waits for an approval: it completes, and its result says who
approved it, when and why. The dependent steps continue.`,
		done: "Step approved!", by: "Approved by", action: tasker.StepAction{ActionType: tasker.Approve},
	})
}

func newTaskRejectStep(s *session) *cobra.Command {
	return newDecision(s, &stepAct{
		use:   "reject-step TASK_UUID STEP",
		short: "Reject a step that waits for an approval",
		long: `Reject a step that waits for an approval: it is in error, with the code REJECTED. If its
template says on_reject: continue, it completes, and its result says that it was rejected.`,
		done: "Step rejected!", by: "Rejected by", action: tasker.StepAction{ActionType: tasker.Reject},
	})
}

func newDecision(s *session, a *stepAct) *cobra.Command {
	a.actor = &a.action.DecidedBy
	return s.newStepAct(a, func() error { return nil })
}

func (s *session) waitText(w *tasker.StepWait) string {
	text := w.Kind
	if w.Approval != "" {
		text = "approval: " + clean(w.Approval)
	}
	if w.Signal != "" {
		text = "signal: " + clean(w.Signal) + ", key: " + clean(w.Key)
	}
	if w.Until != nil {
		text += ", until " + s.stampAgo(w.Until)
	}
	return text
}
