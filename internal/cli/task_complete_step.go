package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

func newTaskCompleteStep(s *session) *cobra.Command {
	a := &stepAct{
		use:   "complete-step TASK_UUID STEP",
		short: "Complete a step by hand, with its results",
		long: `Complete a step whose work was done by hand: the steps that depend on it read the
results given here. --result and --metadata take JSON, @FILE, or - for standard
input.`,
		done: "Step completed manually with results!", by: "Completed by", byFlag: "completed-by",
		action: tasker.StepAction{ActionType: tasker.CompleteManually},
	}
	a.actor = &a.action.CompletedBy
	var result, metadata string
	cmd := s.newStepAct(a, func() error {
		if result == "" {
			return usagef("--result is required: it is what the dependants read")
		}
		data := &tasker.CompletionData{}
		var err error
		if data.Result, err = s.jsonFlag("--result", result); err != nil {
			return err
		}
		if data.Metadata, err = s.jsonFlag("--metadata", metadata); err != nil {
			return err
		}
		a.action.CompletionData = data
		return nil
	})
	cmd.Flags().StringVar(&result, "result", "", "result of the step, in JSON (required)")
	cmd.Flags().StringVar(&metadata, "metadata", "", "how it was done, in JSON")
	return cmd
}
