package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskExplain builds `task explain`. The server composes the sentences, because only it knows workers, limits and
// timers; the command prints them. --json prints a tasker.Explanation. It sends GET /v1/tasks/{uuid}/explain.
func newTaskExplain(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "explain TASK_UUID",
		Short: "Explain the state of a task and what would change it",
		Args:  cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			id, err := taskArg(args[0])
			if err != nil {
				return err
			}
			why, err := c.ExplainTask(ctx, id)
			if err != nil {
				return err
			}
			return s.printTaskExplanation(why)
		}),
	}
}

// printTaskExplanation prints why a task and its steps are in their states.
func (s *session) printTaskExplanation(why *tasker.Explanation) error {
	if s.json {
		return s.printJSON(why)
	}
	if err := s.printf("%s\n", why.Summary); err != nil {
		return err
	}
	if why.Unique != "" {
		if err := s.printf("%s\n", why.Unique); err != nil {
			return err
		}
	}
	if why.Origin != "" {
		if err := s.printf("%s\n", why.Origin); err != nil {
			return err
		}
	}
	// A limit is a sentence about a time limit of the whole task.
	for _, limit := range why.Limits {
		if err := s.printf("%s\n", limit); err != nil {
			return err
		}
	}
	for _, step := range why.Steps {
		f := fields{indent: "    "}
		f.add("Why", step.Why)
		f.add("Next", step.Next)
		if err := s.printf("\n  Step: %s (%s)\n    State: %s\n",
			step.Name, step.StepUUID.String(), step.State); err != nil {
			return err
		}
		if err := s.write([]byte(f.b.String())); err != nil {
			return err
		}
	}
	return nil
}
