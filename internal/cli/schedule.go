package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/schedules"
)

// newSchedule: reading needs read, everything else operate.
func newSchedule(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Manage schedules, which submit a task at each of their times",
		Long: `A schedule submits a task at each of its times: exactly one for each, on any number of
nodes. docs/guides/schedules.md describes its file.`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newScheduleApply(s), newScheduleList(s), newScheduleShow(s), newSchedulePause(s), newScheduleResume(s),
		newScheduleRun(s), newScheduleBackfill(s), newScheduleDelete(s))
	return cmd
}

// newScheduleList reads all pages. --json prints schedules.Schedules.
func newScheduleList(s *session) *cobra.Command {
	var filter schedules.Filter
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List schedules with their next times",
		Example: `  tasker schedule list --namespace video`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			list := []schedules.Schedule{}
			for {
				page, err := schedules.Of(c).Schedules(ctx, filter)
				if err != nil {
					return err
				}
				list = append(list, page.Schedules...)
				if filter.Cursor = page.Cursor; filter.Cursor == "" {
					return answeredList(s, "schedules", s.printSchedules)(list, nil)
				}
			}
		}),
	}
	cmd.Flags().StringVar(&filter.Namespace, "namespace", "", "filter by namespace")
	return cmd
}

func (s *session) printSchedules(list []schedules.Schedule) error {
	t := s.newList("No schedules.", "SCHEDULE", "STATE", "CRON", "TIME ZONE", "NEXT", "RUNS", "LAST", "OUTCOME")
	t.dropFirst("TIME ZONE", "RUNS", "LAST")
	for i := range list {
		of := &list[i]
		last, outcome := "", ""
		if of.LastFiring != nil {
			last, outcome = stamp(&of.LastFiring.Time), outcomeOf(of.LastFiring)
		}
		t.row(qualified(of.Namespace, of.Name), string(of.State), of.Cron, cmp.Or(of.TimeZone, "UTC"), nextOf(of),
			cmp.Or(of.Template, of.TaskType), last, outcome)
	}
	return t.flush()
}

func nextOf(of *schedules.Schedule) string {
	if len(of.NextTimes) == 0 {
		return ""
	}
	return inZone(of, of.NextTimes[0])
}

// inZone shows the reading of the zone's clock.
func inZone(of *schedules.Schedule, at time.Time) string {
	zone, err := time.LoadLocation(of.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	return at.In(zone).Format(time.RFC3339)
}

func outcomeOf(f *schedules.Firing) string {
	if f.State == schedules.FiringEnded || f.State == schedules.FiringRunning {
		return cmp.Or(string(f.TaskState), string(f.State))
	}
	return string(f.State)
}

type scheduleAct struct {
	namespace string
	act       deadletters.Act
}

func (a *scheduleAct) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.namespace, "namespace", "default", "namespace")
	actFlags(cmd, &a.act)
}

// scheduleName splits [NAMESPACE/]NAME as printed; with --namespace all of it is the name.
func scheduleName(namespace *string, arg string) string {
	if of, name, found := strings.Cut(arg, "/"); found && *namespace == "default" {
		*namespace = of
		return name
	}
	return arg
}

func (a *scheduleAct) signed() schedules.ScheduleAct { return schedules.ScheduleAct(signed(a.act)) }

// newSchedulePause leaves running tasks and skips the times of the pause.
func newSchedulePause(s *session) *cobra.Command {
	var a scheduleAct
	var until string
	cmd := &cobra.Command{
		Use:   "pause [NAMESPACE/]NAME",
		Short: "Keep a schedule from firing",
		Example: `  tasker schedule pause nightly --reason 'migration'
  tasker schedule pause nightly --until 2h`,
		Args: cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			name := scheduleName(&a.namespace, args[0])
			req := schedules.SchedulePauseRequest{ScheduleAct: a.signed()}
			if until != "" {
				at, err := momentFlag("--until", until)
				if err != nil {
					return err
				}
				req.Until = &at
			}
			of, err := schedules.Of(c).Pause(ctx, a.namespace, name, req)
			if err != nil || s.json {
				return s.jsonOf(of, err)
			}
			if of.Paused != nil && of.Paused.Until != nil {
				return s.printf("✓ Schedule %s: paused until %s\n", qualified(of.Namespace, of.Name), inZone(of, *of.Paused.Until))
			}
			return s.printf("✓ Schedule %s: paused\n", qualified(of.Namespace, of.Name))
		}),
	}
	a.flags(cmd)
	cmd.Flags().StringVar(&until, "until", "", "resume automatically: a time, or a duration such as 2h")
	return cmd
}

// momentFlag parses a future time: RFC 3339, or a duration from now.
func momentFlag(name, value string) (time.Time, error) {
	if d, err := time.ParseDuration(value); err == nil && d > 0 {
		return time.Now().Add(d), nil
	}
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return at, usagef("%s must be a time such as 2026-03-01T12:00:00Z, or a duration such as 2h, not %q", name, value)
	}
	return at, nil
}

// newScheduleResume leaves skipped times to `schedule backfill`.
func newScheduleResume(s *session) *cobra.Command {
	var a scheduleAct
	cmd := &cobra.Command{
		Use:     "resume [NAMESPACE/]NAME",
		Short:   "End the pause of a schedule",
		Example: `  tasker schedule resume nightly`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			name := scheduleName(&a.namespace, args[0])
			of, err := schedules.Of(c).Resume(ctx, a.namespace, name, a.signed())
			if err != nil || s.json {
				return s.jsonOf(of, err)
			}
			return s.printf("✓ Schedule %s: resumed, next %s\n", qualified(of.Namespace, of.Name), nextOf(of))
		}),
	}
	a.flags(cmd)
	return cmd
}

// newScheduleDelete deletes the firings, not the tasks.
func newScheduleDelete(s *session) *cobra.Command {
	var a scheduleAct
	cmd := &cobra.Command{
		Use:     "delete [NAMESPACE/]NAME",
		Short:   "Delete a schedule; its tasks stay",
		Example: `  tasker schedule delete nightly --reason 'replaced by weekly'`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			name := scheduleName(&a.namespace, args[0])
			err := schedules.Of(c).Remove(ctx, a.namespace, name, a.signed())
			return s.printRemoved(err, "✓ Schedule %s deleted\n", qualified(a.namespace, name))
		}),
	}
	a.flags(cmd)
	return cmd
}
