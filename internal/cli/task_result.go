package cli

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTaskResult prints a step's result unchanged, with or without --json, a large one as a stream from
// .../{step_uuid}/large_result.
func newTaskResult(s *session) *cobra.Command {
	var step string
	cmd := &cobra.Command{
		Use:     "result TASK_UUID [STEP]",
		Short:   "Print the result of a step",
		Example: `  tasker task result 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70 charge`,
		Long: `Print the result of a step as JSON, of whatever size: large results, which other
commands only describe, come as a stream.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			id, err := taskArg(args[0])
			if err != nil {
				return err
			}
			if len(args) == 2 {
				step = args[1]
			}
			steps, err := c.Steps(ctx, id)
			if err != nil {
				return err
			}
			if step == "" && len(steps) != 1 {
				e := tasker.Errorf(tasker.CodeInvalid, "task %s has %d steps", id, len(steps))
				e.Hint = "name one after the task"
				return e
			}
			step = cmp.Or(step, steps[0].Name)
			one, err := stepOf(id, steps, step)
			if err != nil {
				return err
			}
			if one, err = c.Step(ctx, id, one.StepUUID); err != nil {
				return err
			}
			switch {
			case one.LargeResult != nil:
				return s.printLarge(ctx, c, one)
			case one.Results == nil:
				return tasker.Errorf(tasker.CodeNotFound, "step %s is %s and has no result", one.Name, one.State)
			}
			return s.write(append(one.Results, '\n'))
		}),
	}
	cmd.Flags().StringVar(&step, "step", "", "name or UUID of the step (default the only one)")
	return cmd
}

func (s *session) printLarge(ctx context.Context, c *tasker.Client, step *tasker.Step) error {
	content, err := c.LargeResult(ctx, step.TaskUUID, step)
	if err != nil {
		return err
	}
	defer content.Close()
	piece := make([]byte, 64<<10)
	for {
		n, err := content.Read(piece)
		if n > 0 {
			if err := s.write(piece[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return s.write([]byte("\n"))
		}
		if err != nil {
			return err
		}
	}
}
