package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskLogs reads GET /v1/tasks/{uuid}/workflow_steps, and .../{step_uuid}/logs for each printed step. --json
// prints tasker.AttemptLogs.
func newTaskLogs(s *session) *cobra.Command {
	var step string
	var attempt int
	cmd := &cobra.Command{
		Use:     "logs TASK_UUID",
		Short:   "Show what the attempts of a task have logged",
		Example: `  tasker task logs 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70 --step charge`,
		Long: `Show the end of what the attempts of the steps of a task have logged, the last attempt
of a step first. A server keeps the logs of the last ten attempts of a step. Sensitive
fields are not masked in them.`,
		Args: cobra.ExactArgs(1),
		RunE: s.reading(with(taskArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			steps, err := c.Steps(ctx, id)
			if err != nil {
				return err
			}
			if step != "" {
				one, err := stepOf(id, steps, step)
				if err != nil {
					return err
				}
				steps = []tasker.Step{*one}
			}
			all := []tasker.AttemptLog{}
			for _, st := range steps {
				logs, err := c.StepLogs(ctx, id, st.StepUUID)
				if err != nil {
					return err
				}
				for _, l := range logs {
					if attempt != 0 && l.Attempt != attempt {
						continue
					}
					all = append(all, l)
					if !s.json {
						if err := s.printLog(st.Name, &l); err != nil {
							return err
						}
					}
				}
			}
			switch {
			case s.json:
				return s.printList("logs", all)
			case len(all) == 0:
				return s.printf("No logs.\n")
			}
			return nil
		})),
	}
	cmd.Flags().StringVar(&step, "step", "", "name or UUID of a step (default all)")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "number of the attempt (default all)")
	return cmd
}

func (s *session) printLog(step string, l *tasker.AttemptLog) error {
	head := fmt.Sprintf("== %s, attempt %d, %s", clean(step), l.Attempt, s.stampAgo(&l.At))
	if left := l.Bytes - int64(len(l.Text)); left > 0 {
		head += fmt.Sprintf(", without the first %d bytes", left)
	}
	if err := s.printf("%s ==\n", head); err != nil {
		return err
	}
	return s.write([]byte(strings.TrimRight(cleanLines(l.Text), "\n") + "\n"))
}
