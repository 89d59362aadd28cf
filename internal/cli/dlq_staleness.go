package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

func newDLQStaleness(s *session) *cobra.Command {
	var (
		filter tasker.StalenessFilter
		health string
	)
	cmd := &cobra.Command{
		Use:   "staleness",
		Short: "List live tasks by how long they have been in their state",
		Long: `List live tasks by how long they have been in their state: stale ones first, then
those that soon will be (warning, from 80 % of the threshold), then the others.
The detector puts stale tasks in error and opens a case for each.

WHY says where the threshold comes from: the template, the configuration (global), or
that from the end of a promise to a step on: an attempt that runs, a step that waits
in its queue, or for a time. max_duration is that of the task as a whole.`,
		Example: `  tasker dlq staleness --health warning --json | jq length`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			filter.Health = tasker.Health(health)
			tasks, err := c.Staleness(ctx, filter)
			if err != nil {
				return err
			}
			return s.printStaleness(tasks)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&health, "health-status", "", "only healthy, warning or stale ones")
	f.StringVar(&filter.Namespace, "namespace", "", "only of this namespace")
	f.StringVar(&filter.TaskName, "task-name", "", "only of this template or task type")
	f.IntVar(&filter.Limit, "limit", 100, "tasks to show, 1 to 1000")
	older(cmd, map[string]string{"health": "health-status"})
	offer(cmd, "health-status", tasker.Stale, tasker.Warning, tasker.Healthy)
	return cmd
}

func (s *session) printStaleness(tasks []tasker.StaleTask) error {
	if s.json {
		return s.printJSON(tasks)
	}
	if len(tasks) == 0 {
		return s.printf("No tasks.\n")
	}
	t := newTable(s.Out, "HEALTH", "TASK", "NAME", "STATE", "IN STATE", "THRESHOLD", "WHY", "USED", "PRIORITY")
	for i := range tasks {
		k := &tasks[i]
		used, threshold := "", "none"
		if k.StalenessThresholdMinutes > 0 {
			used = strconv.Itoa(int(100*k.CountedMinutes/k.StalenessThresholdMinutes)) + " %"
			threshold = minutes(k.StalenessThresholdMinutes)
		}
		why := string(k.ThresholdSource)
		if k.Promise != "" {
			why += ": " + string(k.Promise)
		}
		t.damaged(k.TaskUUID.String(), k.Damage)
		t.row(string(k.Health), k.TaskUUID.String(), qualified(k.Namespace, k.TaskName), string(k.CurrentState),
			minutes(k.TimeInStateMinutes), threshold, why, used, string(k.Priority))
	}
	return t.flush()
}
