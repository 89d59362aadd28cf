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

// newTaskResetStep, for a fixed cause, sends PATCH /v1/tasks/{uuid}/workflow_steps/{step_uuid} with
// reset_for_retry; its siblings send their acts.
func newTaskResetStep(s *session) *cobra.Command {
	a := &stepAct{
		use:   "reset-step TASK_UUID STEP",
		short: "Reset a failed step and run it again",
		long: `Reset a step in error: it gets all its attempts again and runs again, and its task
continues. Fix the cause of the failure first. The next attempt receives the last
checkpoint of the step, unless --discard-checkpoint deletes it.`,
		done: "Step reset successfully!", by: "Reset by", olderFlag: "reset-by",
		action: tasker.StepAction{ActionType: tasker.ResetForRetry},
	}
	a.actor = &a.action.ResetBy
	cmd := s.newStepAct(a, func() error { return nil })
	cmd.Flags().BoolVar(&a.action.DiscardCheckpoint, "discard-checkpoint", false,
		"delete the checkpoint of the step, so that it begins from the start")
	return cmd
}

// newTaskResolveStep lets dependants run without a result.
func newTaskResolveStep(s *session) *cobra.Command {
	a := &stepAct{
		use:   "resolve-step TASK_UUID STEP",
		short: "Resolve a step manually, without a result",
		long: `Resolve a step manually: the dependent steps continue as if the step had succeeded,
but without its result.`,
		done: "Step resolved manually!", by: "Resolved by", olderFlag: "resolved-by",
		action: tasker.StepAction{ActionType: tasker.ResolveManually},
	}
	a.actor = &a.action.ResolvedBy
	return s.newStepAct(a, func() error { return nil })
}

// newTaskCompleteStep requires a result, even null, unlike resolve-step. It is stored and bounded like a worker's,
// with the operator's name.
func newTaskCompleteStep(s *session) *cobra.Command {
	a := &stepAct{
		use:   "complete-step TASK_UUID STEP",
		short: "Complete a step manually and supply its result",
		long: `Complete a step manually. The dependent steps read the given result. --result and
--metadata accept JSON, @FILE, or - for standard input.`,
		done: "Step completed manually with results!", by: "Completed by", olderFlag: "completed-by",
		action: tasker.StepAction{ActionType: tasker.CompleteManually},
	}
	a.actor = &a.action.CompletedBy
	var result, metadata string
	cmd := s.newStepAct(a, func() error {
		// null is a result, too.
		if result == "" {
			return usagef("--result is required; the dependent steps read it")
		}
		data := &tasker.CompletionData{}
		var err error
		if data.Result, err = s.jsonFlag("--result", result); err != nil {
			return err
		}
		if data.Metadata, err = s.jsonFlag("--metadata", metadata); err != nil {
			return err
		}
		a.action.CompletionData = data
		return nil
	})
	cmd.Flags().StringVar(&result, "result", "", "result of the step, in JSON (required)")
	cmd.Flags().StringVar(&metadata, "metadata", "", "details of the manual work, in JSON")
	return cmd
}

func newTaskApproveStep(s *session) *cobra.Command {
	return newDecision(s, &stepAct{
		use:   "approve-step TASK_UUID STEP",
		short: "Approve a step that waits for an approval",
		long: `Approve a step that waits for an approval: it completes, and its result says who
approved it, when and why. The dependent steps continue.`,
		done: "Step approved!", by: "Approved by", action: tasker.StepAction{ActionType: tasker.Approve},
	})
}

func newTaskRejectStep(s *session) *cobra.Command {
	return newDecision(s, &stepAct{
		use:   "reject-step TASK_UUID STEP",
		short: "Reject a step that waits for an approval",
		long: `Reject a step that waits for an approval: it is in error, with the code REJECTED. If its
template says on_reject: continue, it completes, and its result says that it was rejected.`,
		done: "Step rejected!", by: "Rejected by", action: tasker.StepAction{ActionType: tasker.Reject},
	})
}

func newDecision(s *session, a *stepAct) *cobra.Command {
	a.actor = &a.action.DecidedBy
	return s.newStepAct(a, func() error { return nil })
}

func (s *session) waitText(w *tasker.StepWait) string {
	text := w.Kind
	if w.Approval != "" {
		text = "approval: " + clean(w.Approval)
	}
	if w.Signal != "" {
		text = "signal: " + clean(w.Signal) + ", key: " + clean(w.Key)
	}
	if w.Until != nil {
		text += ", until " + s.stampAgo(w.Until)
	}
	return text
}
