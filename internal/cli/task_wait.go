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

// newTaskWait survives a server's restart, because it reopens its event stream. --json prints the settled
// tasker.Task; the exit code tells the state.
func newTaskWait(s *session) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:     "wait TASK_UUID",
		Short:   "Wait until a task is settled",
		Example: `  tasker task wait 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70 --timeout 5m`,
		Long: `Wait until a task is settled, then show it. Exit codes: 0 if the task is complete or
resolved manually, 1 if it is in error or cancelled, 8 if --timeout is over first.

The command does not poll; the server notifies it. It tolerates a server outage of up
to one minute.`,
		Args: cobra.ExactArgs(1),
		RunE: s.onServer(with(taskArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			return s.waitFor(ctx, c, id, timeout, s.printTask)
		})),
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "maximum wait (default: no limit)")
	return cmd
}

// waitFor shows the settled task, and fails unless it is complete or resolved manually. A time-out of 0 is
// unlimited; another one exits with 8 and leaves the task running.
func (s *session) waitFor(ctx context.Context, c *tasker.Client, id uuid.UUID, timeout time.Duration,
	show func(*tasker.Task) error,
) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errTimedOut)
		defer cancel()
	}
	task, err := c.Wait(ctx, id)
	if err != nil {
		// The cause separates the time-out from an interrupt.
		if errors.Is(context.Cause(ctx), errTimedOut) {
			return fmt.Errorf("task %s is not settled after %s: %w", id, timeout, errTimedOut)
		}
		return err
	}
	if err := show(task); err != nil {
		return err
	}
	switch task.State {
	case tasker.TaskComplete, tasker.TaskResolvedManually:
		return nil
	}
	return exitError(exitFailure)
}
