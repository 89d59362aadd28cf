package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

func newTaskResetStep(s *session) *cobra.Command {
	a := &stepAct{
		use:   "reset-step TASK_UUID STEP",
		short: "Run a failed step again with all its attempts",
		long: `Put a step that is in error back with no attempts used, once what made it fail is
mended. It runs again by itself, and its task goes on.`,
		done: "Step reset successfully!", by: "Reset by", byFlag: "reset-by",
		action: tasker.StepAction{ActionType: tasker.ResetForRetry},
	}
	a.actor = &a.action.ResetBy
	return s.newStepAct(a, func() error { return nil })
}
