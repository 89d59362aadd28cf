package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newDLQDetect exits with 1 if a stale task could not be set to error; the others were. It may run beside a
// server's detector. It sends POST /v1/dlq/staleness/detect, which needs operate. --json prints operate.Detections.
func newDLQDetect(s *session) *cobra.Command {
	var req operate.DetectRequest
	cmd := &cobra.Command{
		Use:     "detect",
		Short:   "Run the staleness detector now",
		Example: `  tasker dlq detect`,
		Long: `Run one cycle of the staleness detector now: open a case for each stale task and set
the task to error. Servers run the detector periodically. --dry-run lists the stale
tasks and changes nothing.`,
		Args: cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			req.Actor = actor(req.Actor)
			found, err := operate.Of(c).DetectStaleness(ctx, req)
			if err != nil {
				return err
			}
			if err := s.printDetections(found); err != nil {
				return err
			}
			// The exit code reports this one; the others are in error.
			for _, d := range found {
				if d.ActionTaken == operate.DetectionTransFail {
					return exitError(exitFailure)
				}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "print what would be done and change nothing")
	cmd.Flags().IntVar(&req.BatchSize, "batch-size", 0,
		"maximum number of tasks to act on (default: the server's setting)")
	cmd.Flags().StringVar(&req.Actor, "actor", "", "name recorded with the act (default: the current user)")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "reason for the act; kept in the audit trail")
	return cmd
}

func (s *session) printDetections(found []operate.Detection) error {
	if s.json {
		return s.printList("detections", found)
	}
	t := s.newList("No task is stale.", "TASK", "NAME", "STATE", "IN STATE", "THRESHOLD", "ACTION")
	t.dropFirst("THRESHOLD", "IN STATE")
	for i := range found {
		d := &found[i]
		t.row(d.TaskUUID.String(), qualified(d.Namespace, d.TaskName), string(d.CurrentState),
			minutes(d.TimeInStateMinutes), minutes(d.ThresholdMinutes), string(d.ActionTaken))
	}
	return t.flush()
}
