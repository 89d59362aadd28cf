package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskCompleteStep requires a result, even null, unlike resolve-step. It is stored and bounded like a worker's,
// with the operator's name.
func newTaskCompleteStep(s *session) *cobra.Command {
	a := &stepAct{
		use:   "complete-step TASK_UUID STEP",
		short: "Complete a step manually and supply its result",
		long: `Complete a step manually. The dependent steps read the given result. --result and
--metadata accept JSON, @FILE, or - for standard input.`,
		done: "Step completed manually with results!", by: "Completed by", olderFlag: "completed-by",
		action: tasker.StepAction{ActionType: tasker.CompleteManually},
	}
	a.actor = &a.action.CompletedBy
	var result, metadata string
	cmd := s.newStepAct(a, func() error {
		// null is a result, too.
		if result == "" {
			return usagef("--result is required; the dependent steps read it")
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
	cmd.Flags().StringVar(&metadata, "metadata", "", "details of the manual work, in JSON")
	return cmd
}
