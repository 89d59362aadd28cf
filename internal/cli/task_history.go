package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskHistory prints transitions, attempts and context edits, oldest first, from GET /v1/tasks/{uuid}/history.
// --json prints a tasker.TaskHistory, perhaps without large results and contexts.
func newTaskHistory(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "history TASK_UUID",
		Short:   "Show all state transitions and attempts of a task",
		Example: `  tasker task history 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(with(taskArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			h, err := c.TaskHistory(ctx, id)
			if err != nil || s.json {
				return s.jsonOf(h, err)
			}
			if err := s.printTransitions(h.Transitions); err != nil {
				return err
			}
			if err := s.printAttempts(h.Attempts); err != nil {
				return err
			}
			return s.printEdits(h.ContextEdits)
		})),
	}
}

// One table for task and steps shows cause and effect together.
func (s *session) printTransitions(transitions []tasker.Transition) error {
	// Times have milliseconds, because a workflow can take less than a second. On a terminal a single day is
	// printed once, to leave room for the reason.
	layout := "2006-01-02T15:04:05.000Z07:00"
	if n := len(transitions); n > 0 && s.columns() > 0 {
		first, last := transitions[0].At.UTC(), transitions[n-1].At.UTC()
		if day := first.Format(time.DateOnly); day == last.Format(time.DateOnly) {
			layout = "15:04:05.000"
			if err := s.printf("On %s, in UTC:\n\n", day); err != nil {
				return err
			}
		}
	}
	t := s.newTable("TIME", "SUBJECT", "FROM", "TO", "ACTOR", "REASON")
	t.dropFirst("FROM", "ACTOR")
	for _, tr := range transitions {
		what := "task"
		if tr.StepName != "" {
			what = tr.StepName
			if tr.Attempt > 0 {
				what += fmt.Sprintf(" #%d", tr.Attempt)
			}
		}
		who := byWhom(tr.Actor, tr.KeyName)
		who = cmp.Or(who, tr.Worker)
		t.row(tr.At.UTC().Format(layout), what, tr.From, tr.To, who, tr.Reason)
	}
	return t.flush()
}

// An attempt that never started has neither start nor duration.
func (s *session) printAttempts(attempts []tasker.Attempt) error {
	if len(attempts) == 0 {
		return nil
	}
	if err := s.printf("\n"); err != nil {
		return err
	}
	t := s.newTable("STEP", "ATTEMPT", "OUTCOME", "STARTED", "DURATION", "WORKER", "ERROR")
	t.dropFirst("WORKER", "STARTED")
	for _, a := range attempts {
		t.row(a.StepName, fmt.Sprint(a.Attempt), a.Outcome, stamp(a.StartedAt), took(a.StartedAt, a.FinishedAt), a.Worker,
			describeFailure(a.Error))
	}
	return t.flush()
}

// took is to the millisecond; "" before the start or the end.
func took(from, to *time.Time) string {
	if from == nil || to == nil {
		return ""
	}
	return to.Sub(*from).Round(time.Millisecond).String()
}
