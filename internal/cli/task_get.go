package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskGet reads GET /v1/tasks/{uuid} once, without waiting; a missing task exits with 3. --json prints a
// tasker.Task.
func newTaskGet(s *session) *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:     "get TASK_UUID",
		Short:   "Show one task",
		Example: `  tasker task get 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(with(taskArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			// 0 answers immediately.
			task, err := c.Task(showing(ctx, show), id, 0)
			if err != nil {
				return err
			}
			return s.printTask(task)
		})),
	}
	addShowSensitive(cmd, &show)
	return cmd
}

func addShowSensitive(cmd *cobra.Command, show *bool) {
	cmd.Flags().BoolVar(show, "show-sensitive", false, "show sensitive values in clear text; the audit trail records it")
}

func showing(ctx context.Context, show bool) context.Context {
	if show {
		return tasker.ShowSensitive(ctx)
	}
	return ctx
}

// printTask prints every field with a value; `task submit --wait` and `task wait` use it, too.
func (s *session) printTask(t *tasker.Task) error {
	if s.json {
		return s.printJSON(t)
	}
	f := s.newFields("  ")
	f.add("UUID", t.TaskUUID.String())
	f.add("Name", qualified(t.Namespace, t.Name))
	f.add("Version", t.Version)
	f.add("State", string(t.State))
	f.add("Steps", stepCounts(t))
	f.add("Priority", fmt.Sprintf("%s (level %d)", t.Priority, t.PriorityLevel))
	f.add("Created", s.stampAgo(&t.CreatedAt))
	f.add("Not before", s.stampAgo(t.RunAt))
	f.add("Finished", s.stampAgo(t.FinishedAt))
	f.add("Deadline", s.stampAgo(t.DeadlineAt))
	f.add("Tags", strings.Join(t.Tags, ", "))
	f.add("Correlation ID", t.CorrelationID)
	f.add("Parent correlation ID", t.ParentCorrelationID)
	f.add("Child of", parentOf(t.Parent))
	f.add("Idempotency key", t.IdempotencyKey)
	f.add("Ordering key", t.OrderingKey)
	f.add("Unique by", uniqueOf(t.Unique))
	f.add("Initiator", t.Initiator)
	f.add("Source system", t.SourceSystem)
	f.add("Reason", t.Reason)
	f.add("Cancelled by", byWhom(t.CancelledBy, t.CancelledByKey))
	f.add("Cancel reason", t.CancelReason)
	f.add("Replays", s.replays(t.ReplayCount, t.LastReplayedAt, t.LastReplayedBy, t.LastReplayedByKey))
	f.add("Context", compact(t.Context))
	if t.ContextVersion > 0 {
		f.add(
			"Context edits",
			fmt.Sprintf("%d, last by %s at %s", t.ContextVersion, byWhom(t.ContextEditedBy, t.ContextEditedByKey),
				s.stampAgo(t.ContextEditedAt)),
		)
	}
	f.add("Damage", t.Damage)
	return s.write([]byte("✓ Task Details:\n\n" + f.String()))
}

func uniqueOf(u *tasker.TaskUnique) string {
	if u == nil {
		return ""
	}
	text := strings.Join(u.By, ", ") + "; while " + strings.Join(u.While, ", ")
	if u.Until != nil {
		text += "; until " + u.Until.Format(time.RFC3339)
	}
	if u.Guards != nil && !*u.Guards {
		text += " (no longer)"
	}
	return text
}

// stepCounts counts steps by state without zeros; "done" includes manual resolutions.
func stepCounts(t *tasker.Task) string {
	text := fmt.Sprintf("%d of %d done (%.0f%%)", t.CompletedSteps, t.TotalSteps, t.CompletionPercentage)
	for _, part := range []struct {
		n    int
		what string
	}{
		{t.FailedSteps, "failed"}, {t.InProgressSteps, "in progress"}, {t.WaitingSteps, "waiting"},
		{t.PendingSteps, "pending"}, {t.CancelledSteps, "cancelled"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}
