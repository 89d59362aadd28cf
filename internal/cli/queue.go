package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
)

// newQueue uses the queue API (docs/reference/queue-api.md), whose statuses differ from the states of `task list`.
func newQueue(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Show the queue, its routes, and the position of a task",
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newQueueStats(s), newQueueRoutes(s), newQueueList(s), newQueuePosition(s))
	return cmd
}

// newQueuePosition reads GET /api/v1/tasks/{id}: the current position, which more urgent submissions change. --json
// prints a queueapi.QueueTask.
func newQueuePosition(s *session) *cobra.Command {
	var history bool
	cmd := &cobra.Command{
		Use:     "position TASK_UUID",
		Short:   "Show the position and the estimated wait of a task",
		Example: `  tasker queue position 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Long: `Show the status of a task, its position in the queue, and its estimated wait. The
estimate divides the position by the measured throughput of the queue; without a
measurement there is no estimate.`,
		Args: cobra.ExactArgs(1),
		RunE: s.reading(with(taskArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			return answered(s, s.printQueueTask)(queueapi.Of(c).QueueTask(ctx, id, history))
		})),
	}
	cmd.Flags().BoolVar(&history, "history", false, "include earlier statuses")
	return cmd
}

// printQueueTask shows the effective priority only if aging changed it.
func (s *session) printQueueTask(t *queueapi.QueueTask) error {
	f := s.newFields("  ")
	f.add("Task", t.TaskID.String())
	f.add("Name", qualified(t.Namespace, t.TaskType))
	f.add("Status", fmt.Sprintf("%s for %s", t.Status, briefly(t.CurrentStateDurationSeconds)))
	f.add("Position", positionText(t.QueuePlace))
	f.add("Estimated wait", waitText(t))
	priority := string(t.Priority)
	if t.EffectivePriority != "" && t.EffectivePriority != t.Priority {
		priority += ", effectively " + string(t.EffectivePriority)
	}
	f.add("Priority", priority)
	if len(t.RequiredCapabilities) > 0 {
		f.add("Capabilities", strings.Join(t.RequiredCapabilities, ", "))
	}
	f.add("Worker", t.AssignedWorker)
	f.add("Next retry", s.stampAgo(t.NextRetryAt))
	f.add("Retries", fmt.Sprintf("%d of %d", t.RetryCount, t.MaxRetries))
	if t.Error != nil {
		f.add("Last error", t.Error.Message)
	}
	for _, h := range t.StateHistory {
		f.add("Was "+string(h.State), stamp(&h.Timestamp))
	}
	return s.write([]byte(f.String()))
}

// A position beyond the server's counting limit is a minimum; "" for a task that does not wait for a worker.
func positionText(p queueapi.QueuePlace) string {
	switch {
	case p.PositionInQueue == nil:
		return ""
	case p.PositionIsMinimum:
		return fmt.Sprintf("%d or higher", *p.PositionInQueue)
	}
	return fmt.Sprint(*p.PositionInQueue)
}

// The estimate is missing if this server recently claimed nothing, without a throughput.
func waitText(t *queueapi.QueueTask) string {
	switch {
	case t.PositionInQueue == nil:
		return ""
	case t.EstimatedWaitSeconds == nil:
		return "unknown: this server saw no claim from the queue in the last two minutes"
	}
	return briefly(*t.EstimatedWaitSeconds)
}

func briefly(seconds float64) string { return brief(time.Duration(seconds * float64(time.Second))) }
