package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

func newDLQDetect(s *session) *cobra.Command {
	var req tasker.DetectRequest
	cmd := &cobra.Command{
		Use:   "detect",
		Short: "Run the staleness detector now",
		Long: `Run one cycle of the staleness detector now, which servers do by themselves: each
stale task gets a case and is put in error. With --dry-run it only says which.`,
		Args: cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			found, err := c.DetectStaleness(ctx, req)
			if err != nil {
				return err
			}
			if err := s.printDetections(found); err != nil {
				return err
			}
			for _, d := range found {
				if d.ActionTaken == tasker.DetectionTransFail {
					return exitError(exitFailure)
				}
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "say what would be done, and do nothing")
	cmd.Flags().IntVar(&req.BatchSize, "batch-size", 0, "tasks to act on at the most (default the server's setting)")
	return cmd
}

func (s *session) printDetections(found []tasker.Detection) error {
	if s.json {
		return s.printJSON(found)
	}
	if len(found) == 0 {
		return s.printf("No task is stale.\n")
	}
	t := newTable(s.Out, "TASK", "NAME", "STATE", "IN STATE", "THRESHOLD", "ACTION")
	for i := range found {
		d := &found[i]
		t.row(d.TaskUUID.String(), qualified(d.Namespace, d.TaskName), string(d.CurrentState),
			minutes(d.TimeInStateMinutes), minutes(d.ThresholdMinutes), string(d.ActionTaken))
	}
	return t.flush()
}
