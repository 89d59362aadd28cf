package cli

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskExplain prints the server's sentences from GET /v1/tasks/{uuid}/explain. --json prints a
// tasker.Explanation.
func newTaskExplain(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "explain TASK_UUID",
		Short:   "Explain the state of a task and what would change it",
		Example: `  tasker task explain 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(with(taskArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			return answered(s, s.printTaskExplanation)(c.ExplainTask(ctx, id))
		})),
	}
}

func (s *session) printTaskExplanation(why *tasker.Explanation) error {
	text := s.sentence("", why.Summary) + s.sentence("", why.Unique) + s.sentence("", why.Origin)
	for _, limit := range why.Limits {
		text += s.sentence("", limit)
	}
	for _, step := range why.Steps {
		f := s.newFields("    ")
		f.add("State", string(step.State))
		f.add("Why", step.Why)
		f.add("Next", step.Next)
		text += fmt.Sprintf("\n  Step: %s (%s)\n", clean(step.Name), step.StepUUID) + f.String()
	}
	return s.write([]byte(text))
}
