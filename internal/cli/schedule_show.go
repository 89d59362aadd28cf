package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/schedules"
)

type scheduleStory struct {
	*schedules.Schedule
	*schedules.FiringHistory
}

// newScheduleShow: --json prints a schedules.Schedule with the members of a schedules.FiringHistory.
func newScheduleShow(s *session) *cobra.Command {
	var namespace string
	var filter schedules.FiringFilter
	cmd := &cobra.Command{
		Use:     "show [NAMESPACE/]NAME",
		Short:   "Show a schedule, its next ten times, and what became of the last ones",
		Example: `  tasker schedule show nightly`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			name := scheduleName(&namespace, args[0])
			of, err := schedules.Of(c).Schedule(ctx, namespace, name)
			if err != nil {
				return err
			}
			history, err := schedules.Of(c).Firings(ctx, namespace, name, filter)
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(scheduleStory{of, history})
			}
			if err := s.write([]byte(s.scheduleFields(of) + "\n")); err != nil {
				return err
			}
			return s.printFirings(of, history)
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "default", "namespace")
	pageFlag(cmd, &filter.Limit, 20, "firings and skips")
	cmd.Flags().StringVar(&filter.Cursor, "cursor", "", "start after the previous page")
	return cmd
}

func (s *session) scheduleFields(of *schedules.Schedule) string {
	f := s.newFields("  ")
	f.add("Schedule", qualified(of.Namespace, of.Name))
	f.add("Description", of.Description)
	f.add("State", string(of.State))
	if p := of.Paused; p != nil {
		f.add("Paused", fmt.Sprintf("since %s by %s: %s", stamp(&p.At), p.Actor, p.Reason))
		f.add("Until", stamp(p.Until))
	}
	f.add("Cron", of.Cron)
	f.add("Time zone", cmp.Or(of.TimeZone, "UTC"))
	if of.Jitter > 0 {
		f.add("Jitter", fmt.Sprintf("up to %gs", of.Jitter))
	}
	f.add("Starts", stamp(of.StartAt))
	f.add("Ends", stamp(of.EndAt))
	f.add("Runs", cmp.Or(of.Template, of.TaskType))
	f.add("Overlap", string(of.Overlap))
	missed := string(of.Missed)
	if of.MissedLimit > 0 {
		missed += fmt.Sprintf(" (the latest %d)", of.MissedLimit)
	}
	f.add("Missed", missed)
	f.add("Trouble", of.Trouble)
	for i, at := range of.NextTimes {
		name := "Next"
		if i > 0 {
			name = "    "
		}
		fmt.Fprintf(&f.b, "%s%s: %s\n", f.indent, name, inZone(of, at))
	}
	return f.String()
}

func (s *session) printFirings(of *schedules.Schedule, h *schedules.FiringHistory) error {
	if len(h.Firings)+len(h.Skips) == 0 {
		return s.printf("No firings yet.\n")
	}
	t := s.newTable("TIME", "KIND", "OUTCOME", "TASK", "NOTE")
	firings, skips := h.Firings, h.Skips
	for len(firings)+len(skips) > 0 {
		if len(skips) == 0 || len(firings) > 0 && firings[0].Time.After(skips[0].Last) {
			f := &firings[0]
			id := ""
			if f.TaskUUID != nil {
				id = f.TaskUUID.String()
			}
			t.row(inZone(of, f.Time), f.Kind, outcomeOf(f), id, headline(f.Error))
			firings = firings[1:]
			continue
		}
		t.row(inZone(of, skips[0].Last), skips[0].Reason, "skipped", "", skipNote(of, &skips[0]))
		skips = skips[1:]
	}
	return t.flushPage(h.Cursor)
}

func skipNote(of *schedules.Schedule, k *schedules.FiringSkip) string {
	if k.Times == 1 {
		return ""
	}
	n := strconv.Itoa(k.Times)
	if k.More {
		n = "more than " + n
	}
	return fmt.Sprintf("%s times since %s", n, inZone(of, k.First.Truncate(time.Second)))
}
