package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

func newTaskWait(s *session) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait TASK_UUID",
		Short: "Wait until a task is settled",
		Long: `Wait until a task is complete, resolved manually, cancelled, or in error, and show
it. Exits with 0 when it is complete or resolved manually, with 1 when it is in
error or was cancelled, with 8 when --timeout was over first.

It does not poll: the server says when something has happened. If the server goes
away meanwhile, it has a minute to come back.`,
		Args: cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			id, err := taskArg(args[0])
			if err != nil {
				return err
			}
			return s.waitFor(ctx, c, id, timeout)
		}),
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this long (default never)")
	return cmd
}

// waitFor waits for a task, shows it, and ends the command with what became of
// it. A timeout of 0 waits for ever.
func (s *session) waitFor(ctx context.Context, c *tasker.Client, id uuid.UUID, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errTimedOut)
		defer cancel()
	}
	task, err := c.Wait(ctx, id)
	if err != nil {
		if errors.Is(context.Cause(ctx), errTimedOut) {
			return fmt.Errorf("task %s is not settled after %s: %w", id, timeout, errTimedOut)
		}
		return err
	}
	if err := s.printTask(task); err != nil {
		return err
	}
	switch task.State {
	case tasker.TaskComplete, tasker.TaskResolvedManually:
		return nil
	}
	return exitError(exitFailure)
}
