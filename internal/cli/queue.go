package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newQueue groups the commands about the queue as a whole.
func newQueue(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Look at what waits for workers, and where a task stands",
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newQueueStats(s), newQueueList(s), newQueuePosition(s))
	return cmd
}

func newQueuePosition(s *session) *cobra.Command {
	var history bool
	cmd := &cobra.Command{
		Use:   "position TASK_UUID",
		Short: "Show where a task stands, and how long it is likely to wait",
		Long: `Show a task as the queue sees it: its status, how many steps go out before it, and
when its turn is likely to come at the rate at which its queue is served. What was
not measured is not known, and is not guessed.`,
		Args: cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			id, err := taskArg(args[0])
			if err != nil {
				return err
			}
			task, err := c.QueueTask(ctx, id, history)
			if err != nil {
				return err
			}
			return s.printQueueTask(task)
		}),
	}
	cmd.Flags().BoolVar(&history, "history", false, "tell its statuses too")
	return cmd
}

func (s *session) printQueueTask(t *tasker.QueueTask) error {
	if s.json {
		return s.printJSON(t)
	}
	f := fields{indent: "  "}
	f.add("Task", t.TaskID.String())
	f.add("Type", qualified(t.Namespace, t.TaskType))
	f.add("Status", fmt.Sprintf("%s for %s", t.Status, briefly(t.CurrentStateDurationSeconds)))
	f.add("Position", positionText(t.QueuePlace))
	f.add("Likely wait", waitText(t))
	priority := string(t.Priority)
	if t.EffectivePriority != "" && t.EffectivePriority != t.Priority {
		priority += ", goes out as " + string(t.EffectivePriority)
	}
	f.add("Priority", priority)
	if len(t.RequiredCapabilities) > 0 {
		f.add("Needs", strings.Join(t.RequiredCapabilities, ", "))
	}
	f.add("Worker", t.AssignedWorker)
	f.add("Ready again", s.stampAgo(t.NextRetryAt))
	f.add("Retries", fmt.Sprintf("%d of %d", t.RetryCount, t.MaxRetries))
	if t.Error != nil {
		f.add("Last error", t.Error.Message)
	}
	for _, h := range t.StateHistory {
		f.add("Was "+string(h.State), stamp(&h.Timestamp))
	}
	return s.write([]byte(f.b.String()))
}

// positionText is a place in words, "" for a task that does not wait for a worker.
func positionText(p tasker.QueuePlace) string {
	switch {
	case p.PositionInQueue == nil:
		return ""
	case p.PositionIsMinimum:
		return fmt.Sprintf("%d or higher", *p.PositionInQueue)
	}
	return fmt.Sprint(*p.PositionInQueue)
}

func waitText(t *tasker.QueueTask) string {
	switch {
	case t.PositionInQueue == nil:
		return ""
	case t.EstimatedWaitSeconds == nil:
		return "not known: nothing was taken from its queue in the last two minutes, as far as this server knows"
	}
	return briefly(*t.EstimatedWaitSeconds)
}

// briefly is brief of a number of seconds.
func briefly(seconds float64) string { return brief(time.Duration(seconds * float64(time.Second))) }
