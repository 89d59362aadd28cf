package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/schedules"
)

func overlapFlag(cmd *cobra.Command, to *schedules.Overlap) {
	cmd.Flags().StringVar((*string)(to), "overlap", "", "policy of overlap for this (default: that of the schedule)")
	offer(cmd, "overlap", schedules.OverlapSkip, schedules.OverlapOne, schedules.OverlapAll, schedules.OverlapCancel,
		schedules.OverlapAllow)
}

// newScheduleRun also fires paused schedules. Under the policy skip it exits with 4, conflict, while a task of the
// schedule runs.
func newScheduleRun(s *session) *cobra.Command {
	var a scheduleAct
	var req schedules.ScheduleRunRequest
	cmd := &cobra.Command{
		Use:     "run [NAMESPACE/]NAME",
		Short:   "Submit the task of a schedule now",
		Example: `  tasker schedule run nightly --overlap allow`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			name := scheduleName(&a.namespace, args[0])
			req.ScheduleAct = a.signed()
			f, err := schedules.Of(c).Run(ctx, a.namespace, name, req)
			if err != nil || s.json {
				return s.jsonOf(f, err)
			}
			if f.TaskUUID == nil {
				return s.printf("✓ Schedule %s: the firing waits for a task of an earlier one\n", qualified(a.namespace, name))
			}
			return s.printf("✓ Schedule %s: task %s\n", qualified(a.namespace, name), f.TaskUUID)
		}),
	}
	a.flags(cmd)
	overlapFlag(cmd, &req.Overlap)
	return cmd
}

// newScheduleBackfill is repeatable: fired times do not fire again.
func newScheduleBackfill(s *session) *cobra.Command {
	var a scheduleAct
	var req schedules.BackfillRequest
	var from, until string
	cmd := &cobra.Command{
		Use:   "backfill [NAMESPACE/]NAME --from TIME --until TIME",
		Short: "Fire the times of a range in the past",
		Long: `Fire the times of a range in the past, both ends included, in order and through the
policy of overlap. Times that have fired do not fire again. A range may have up to 1,000
times; --dry-run shows them.`,
		Example: `  tasker schedule backfill nightly --from 2026-03-01T00:00:00Z --until 2026-03-07T00:00:00Z --overlap queue_all`,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) (err error) {
			if from == "" || until == "" {
				return usagef("--from and --until are required")
			}
			req.From, req.Until, err = s.timeFlagsNamed("--from", from, "--until", until)
			return err
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			name := scheduleName(&a.namespace, args[0])
			req.ScheduleAct = a.signed()
			out, err := schedules.Of(c).Backfill(ctx, a.namespace, name, req)
			if err != nil || s.json {
				return s.jsonOf(out, err)
			}
			if !out.DryRun {
				return s.printf("✓ Schedule %s: %s; %d fired, %d waiting, %d skipped, %d known, %d refused\n",
					qualified(a.namespace, name), wording.Count(len(out.Times), "time"), out.Fired, out.Waiting, out.Skipped,
					out.Known, out.Refused)
			}
			if err := s.printf("%s\n", wording.Count(len(out.Times), "time")); err != nil {
				return err
			}
			for i := range out.Times {
				if err := s.printf("  %s\n", stamp(&out.Times[i])); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	a.flags(cmd)
	overlapFlag(cmd, &req.Overlap)
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "first time of the range: a time, or an age such as 24h (required)")
	f.StringVar(&until, "until", "", "last time of the range: likewise (required)")
	f.BoolVar(&req.DryRun, "dry-run", false, "show the times, and fire none")
	return cmd
}
