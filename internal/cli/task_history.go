package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskHistory builds `task history`: transitions, attempts and edits of the context, each oldest first. --json
// prints a tasker.TaskHistory, in which large results and contexts may be omitted. It sends GET
// /v1/tasks/{uuid}/history once.
func newTaskHistory(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "history TASK_UUID",
		Short:   "Show all state transitions and attempts of a task",
		Example: `  tasker task history 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			id, err := taskArg(args[0])
			if err != nil {
				return err
			}
			h, err := c.TaskHistory(ctx, id)
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(h)
			}
			if err := s.printTransitions(h.Transitions); err != nil {
				return err
			}
			if err := s.printAttempts(h.Attempts); err != nil {
				return err
			}
			return s.printEdits(h.ContextEdits)
		}),
	}
}

// printTransitions prints the transitions of the task and its steps in one table, so that cause
// and effect stand next to each other.
func (s *session) printTransitions(transitions []tasker.Transition) error {
	// Times are exact to the millisecond, because a whole workflow can finish within one second. On a terminal, the day
	// is said once if it is one, so that there is room for the reason.
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
		if who == "" {
			who = tr.Worker
		}
		t.row(tr.At.UTC().Format(layout), what, tr.From, tr.To, who, tr.Reason)
	}
	return t.flush()
}

// printAttempts prints the attempts of all steps. An attempt that never started has neither a start nor a duration; it
// was assigned, and its worker did not begin in time.
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
		t.row(
			a.StepName,
			fmt.Sprint(a.Attempt),
			a.Outcome,
			stamp(a.StartedAt),
			took(a.StartedAt, a.FinishedAt),
			a.Worker,
			describeFailure(a.Error),
		)
	}
	return t.flush()
}

// took formats how long an attempt ran, to the millisecond; "" if it did not start or has not
// ended.
func took(from, to *time.Time) string {
	if from == nil || to == nil {
		return ""
	}
	return to.Sub(*from).Round(time.Millisecond).String()
}
