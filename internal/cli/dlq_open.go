package cli

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newDLQOpen opens a case before the detector does, by POST /v1/dlq/task/{task_uuid}. A task with a pending case
// exits with 4. The case does not affect the task. --json prints the operate.Case.
func newDLQOpen(s *session) *cobra.Command {
	var (
		req      operate.OpenCaseRequest
		metadata string
	)
	cmd := &cobra.Command{
		Use:     "open TASK_UUID",
		Short:   "Open a case manually",
		Example: `  tasker dlq open 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70 --reason 'the invoice is wrong'`,
		Long: `Open a case manually. The case keeps a snapshot of the task as it is now; the task
itself does not change.`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if req.Reason == "" {
				return usagef("--reason is required; it is stored with the case")
			}
			req.OpenedBy = actor(req.OpenedBy)
			var err error
			req.Metadata, err = s.jsonFlag("--metadata", metadata)
			return err
		},
		RunE: s.onServer(with(taskArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			opened, err := operate.Of(c).OpenCase(ctx, id, req)
			if err != nil || s.json {
				return s.jsonOf(opened, err)
			}
			return s.printf("✓ Case opened!\n  Case: %s\n  Task: %s\n  Status: %s\n  Reason: %s\n  Opened by: %s\n",
				opened.CaseUUID.String(), opened.TaskUUID.String(), opened.ResolutionStatus, req.Reason, req.OpenedBy)
		})),
	}
	cmd.Flags().StringVar(&req.Reason, "reason", "", "reason for the act (required)")
	actorFlag(cmd, &req.OpenedBy, "opened-by")
	cmd.Flags().StringVar(&metadata, "metadata", "", "details, a JSON object: JSON, @FILE, or - for standard input")
	return cmd
}
