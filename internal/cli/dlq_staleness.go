package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newDLQStaleness previews the detector's decisions by GET /v1/dlq/staleness, which change as tasks age. --json
// prints operate.StaleTasks.
func newDLQStaleness(s *session) *cobra.Command {
	var (
		filter operate.StalenessFilter
		health string
	)
	cmd := &cobra.Command{
		Use:   "staleness",
		Short: "List live tasks by time in their current state",
		Long: `List live tasks by time in their current state: stale tasks first, then tasks that
have used 80 % of their threshold (warning), then the others. The detector opens a
case for each stale task and sets the task to error.

BASIS is the source of the threshold: the template, the configuration (global), the
configuration counted from the end of a promise to a step (a running attempt, a wait
in the queue, a wait for a time), or the max_duration of the whole task.`,
		Example: `  tasker dlq staleness --health-status warning --json | jq length`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			filter.Health = operate.Health(health)
			return answeredList(s, "tasks", s.printStaleness)(operate.Of(c).Staleness(ctx, filter))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&health, "health-status", "", "filter by health: healthy, warning or stale")
	f.StringVar(&filter.Namespace, "namespace", "", "filter by namespace")
	f.StringVar(&filter.TaskName, "name", "", "filter by task name: the template or the task type")
	pageFlag(cmd, &filter.Limit, 100, "number of tasks")
	aliases(cmd, map[string]string{"health": "health-status", "task-name": "name"})
	offer(cmd, "health-status", operate.Stale, operate.Warning, operate.Healthy)
	return cmd
}

// printStaleness shows the counted share of the threshold as USED, which differs from the time in state while a
// promise to a step holds.
func (s *session) printStaleness(tasks []operate.StaleTask) error {
	t := s.newList("No tasks.", "HEALTH", "TASK", "NAME", "STATE", "IN STATE", "THRESHOLD", "BASIS", "USED", "PRIORITY")
	t.dropFirst("PRIORITY", "BASIS", "THRESHOLD", "IN STATE")
	for i := range tasks {
		k := &tasks[i]
		used, threshold := "", "none"
		// 0: the task cannot become stale in this state.
		if k.StalenessThresholdMinutes > 0 {
			used = strconv.Itoa(int(100*k.CountedMinutes/k.StalenessThresholdMinutes)) + " %"
			threshold = minutes(k.StalenessThresholdMinutes)
		}
		why := string(k.ThresholdSource)
		// A promise delayed the count.
		if k.Promise != "" {
			why += ": " + string(k.Promise)
		}
		t.damaged(k.TaskUUID.String(), k.Damage)
		t.row(string(k.Health), k.TaskUUID.String(), qualified(k.Namespace, k.TaskName), string(k.CurrentState),
			minutes(k.TimeInStateMinutes), threshold, why, used, string(k.Priority))
	}
	return t.flush()
}
