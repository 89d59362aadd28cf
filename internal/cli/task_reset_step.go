package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskResetStep, for a fixed cause, sends PATCH /v1/tasks/{uuid}/workflow_steps/{step_uuid} with
// reset_for_retry; its siblings send their acts.
func newTaskResetStep(s *session) *cobra.Command {
	a := &stepAct{
		use:   "reset-step TASK_UUID STEP",
		short: "Reset a failed step and run it again",
		long: `Reset a step in error: it gets all its attempts again and runs again, and its task
continues. Fix the cause of the failure first. The next attempt receives the last
checkpoint of the step, unless --discard-checkpoint deletes it.`,
		done: "Step reset successfully!", by: "Reset by", olderFlag: "reset-by",
		action: tasker.StepAction{ActionType: tasker.ResetForRetry},
	}
	a.actor = &a.action.ResetBy
	cmd := s.newStepAct(a, func() error { return nil })
	cmd.Flags().BoolVar(&a.action.DiscardCheckpoint, "discard-checkpoint", false,
		"delete the checkpoint of the step, so that it begins from the start")
	return cmd
}
