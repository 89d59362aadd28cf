package cli

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newExplain explains an ID from a log by up to three requests, GET /v1/tasks/{uuid}/explain first, because most
// IDs are those of tasks. --json prints a tasker.Explanation or a deadletters.StateExplanation.
func newExplain(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "explain UUID",
		Short:   "Explain the state of a task, a dead letter or a redrive, and what would change it",
		Example: "  tasker explain 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70",
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return usagef("%q is not a UUID", args[0])
			}
			return s.explain(ctx, c, id)
		}),
	}
}

// explain looks for a task, a letter and a redrive. A missing permission is only reported if none is found.
func (s *session) explain(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
	why, first := c.ExplainTask(ctx, id)
	if first == nil {
		return answered(s, s.printTaskExplanation)(why, nil)
	}
	letters := deadletters.Of(c)
	for _, ask := range []func(context.Context, uuid.UUID) (*deadletters.StateExplanation, error){
		letters.ExplainLetter, letters.ExplainRedrive,
	} {
		if !elsewhere(first) {
			return first
		}
		found, err := ask(ctx, id)
		if err == nil {
			return answered(s, s.printExplanation)(found, nil)
		}
		if tasker.ErrorCode(err) != tasker.CodeNotFound {
			first = err
		}
	}
	if tasker.ErrorCode(first) == tasker.CodeNotFound {
		return tasker.Errorf(tasker.CodeNotFound, "there is no task, dead letter or redrive %s", id)
	}
	return first
}

// elsewhere reports whether another kind of object may have the ID.
func elsewhere(err error) bool {
	switch tasker.ErrorCode(err) {
	case tasker.CodeNotFound, tasker.CodeForbidden:
		return true
	default:
		return false
	}
}

func (s *session) printExplanation(e *deadletters.StateExplanation) error {
	text := s.sentence("", e.Summary)
	for _, why := range e.Why {
		text += s.sentence("  ", why)
	}
	if e.Next != "" {
		text += s.sentence("", "Next: "+e.Next)
	}
	return s.write([]byte(text))
}
