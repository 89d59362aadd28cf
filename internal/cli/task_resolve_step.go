package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskResolveStep lets dependants run without a result.
func newTaskResolveStep(s *session) *cobra.Command {
	a := &stepAct{
		use:   "resolve-step TASK_UUID STEP",
		short: "Resolve a step manually, without a result",
		long: `Resolve a step manually: the dependent steps continue as if the step had succeeded,
but without its result.`,
		done: "Step resolved manually!", by: "Resolved by", olderFlag: "resolved-by",
		action: tasker.StepAction{ActionType: tasker.ResolveManually},
	}
	a.actor = &a.action.ResolvedBy
	return s.newStepAct(a, func() error { return nil })
}
