package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskCancel parses all IDs before one POST /v1/tasks/cancel. Tasks are decided separately, so a repetition is
// harmless. --json prints a receipt per task, in order.
func newTaskCancel(s *session) *cobra.Command {
	req := tasker.CancelRequest{}
	cmd := &cobra.Command{
		Use:     "cancel TASK_UUID...",
		Short:   "Cancel tasks",
		Example: `  tasker task cancel 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70 --reason 'ordered twice'`,
		Long: `Cancel tasks: their unsettled steps become cancelled, and the workers that hold leases
on these steps are told to stop. One transaction cancels all tasks. A task that is
already terminal is reported and does not stop the others.`,
		Args: cobra.MinimumNArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			for _, arg := range args {
				id, err := taskArg(arg)
				if err != nil {
					return err
				}
				req.TaskUUIDs = append(req.TaskUUIDs, id)
			}
			return s.cancel(ctx, c, req)
		}),
	}
	cmd.Flags().StringVar(&req.Reason, "reason", "", "reason for the act")
	actorFlag(cmd, &req.CancelledBy, "cancelled-by")
	expectFlag(cmd, &req.ExpectedState, tasker.TaskError, tasker.TaskStepsInProcess)
	return cmd
}

// cancel prints a line per task and returns the first refusal; the others are cancelled.
func (s *session) cancel(ctx context.Context, c *tasker.Client, req tasker.CancelRequest) error {
	req.CancelledBy = actor(req.CancelledBy)
	receipts, err := c.CancelTasks(ctx, req)
	if err != nil {
		return err
	}
	var first error
	for i, r := range receipts {
		if r.Error != nil {
			if first == nil {
				first = r.Error
			}
			continue
		}
		if !s.json {
			if err := s.printf("✓ Task cancelled: %s\n", req.TaskUUIDs[i].String()); err != nil {
				return err
			}
		}
	}
	if s.json {
		if err := s.printList("tasks", receipts); err != nil {
			return err
		}
	}
	return first
}
