package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

func newTaskResolveStep(s *session) *cobra.Command {
	a := &stepAct{
		use:   "resolve-step TASK_UUID STEP",
		short: "Let a task go on without a step",
		long: `Resolve a step manually: the steps that depend on it go on as if it had succeeded,
without results of it.`,
		done: "Step resolved manually!", by: "Resolved by", byFlag: "resolved-by",
		action: tasker.StepAction{ActionType: tasker.ResolveManually},
	}
	a.actor = &a.action.ResolvedBy
	return s.newStepAct(a, func() error { return nil })
}
