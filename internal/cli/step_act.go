package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// stepAct describes an operator's act on a step; the acts differ in words and API fields.
type stepAct struct {
	use, short, long string

	done      string  // message after the act
	by        string  // word for the actor
	olderFlag string  // an older name of --actor
	actor     *string // the field of action for the actor
	action    tasker.StepAction
}

// prepare runs after the common checks and before the connection; it may add to a.action.
func (s *session) newStepAct(a *stepAct, prepare func() error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   a.use,
		Short: a.short,
		Long:  a.long + "\nSTEP is the name or the UUID of a step.",
		Args:  cobra.ExactArgs(2),
		PreRunE: func(*cobra.Command, []string) error {
			if a.action.Reason == "" {
				return usagef("--reason is required; it is stored with the step")
			}
			*a.actor = actor(*a.actor)
			return prepare()
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			return s.act(ctx, c, args, a)
		}),
	}
	cmd.Flags().StringVar(&a.action.Reason, "reason", "", "reason for the act (required)")
	actorFlag(cmd, a.actor, a.olderFlag)
	expectFlag(cmd, &a.action.ExpectedState, tasker.StepError, tasker.StepWaitingForRetry)
	return cmd
}

// expectFlag adds --expect, which refuses an act if the step has changed since the operator saw it. usual are
// completed values.
func expectFlag[S ~string](cmd *cobra.Command, to *string, usual ...S) {
	cmd.Flags().StringVar(to, "expect", "", "expected current state; in any other state do nothing and exit with 4")
	offer(cmd, "expect", usual...)
}

func (s *session) act(ctx context.Context, c *tasker.Client, args []string, a *stepAct) error {
	task, id, err := stepArgs(ctx, c, args)
	if err != nil {
		return err
	}
	step, err := c.ActOnStep(ctx, task, id, a.action)
	if err != nil || s.json {
		return s.jsonOf(step, err)
	}
	return s.printf("✓ %s\n  New state: %s\n  Reason: %s\n  %s: %s\n",
		a.done, step.State, a.action.Reason, a.by, *a.actor)
}
