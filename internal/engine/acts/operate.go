package acts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Operate performs and stores an operator's act on a step. The task continues automatically, also out of error.
// WrongState: the step is settled or its task terminal. Conflict: the step is not as expected. Invalid: lists every
// problem. NotFound: there is no step within the key's reach.
func (e *Room) Operate(ctx context.Context, taskID, stepID task.ID, act kernel.StepAct,
) (*task.Step, error) {
	return e.operateStep(ctx, e.Write, taskID, stepID, act)
}

// OperateIn is Operate in the caller's transaction.
func (e *Room) OperateIn(ctx context.Context, tx kernel.Tx, taskID, stepID task.ID,
	act kernel.StepAct,
) (*task.Step, error) {
	return e.operateStep(ctx, e.In(tx), taskID, stepID, act)
}

func (e *Room) operateStep(ctx context.Context, run kernel.Transaction, taskID, stepID task.ID,
	act kernel.StepAct,
) (*task.Step, error) {
	if problems := e.checkAct(&act); len(problems) > 0 {
		return nil, check.Refusal("the step was not changed", problems)
	}
	var after task.Step
	err := run(ctx, "operate", func(u *kernel.Unit) error {
		w, err := u.ReachedStep(taskID, stepID)
		if err != nil {
			return err
		}
		if err := operateOpen(u, w, act); err != nil {
			return err
		}
		after = *w.Step
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &after, nil
}

func (e *Room) checkAct(a *kernel.StepAct) []task.Problem {
	problems := append(kernel.CheckActor(a.Actor, a.Reason), kernel.ExpectFault(a.Expect, task.StepStates)...)
	bad := func(at, fault string) {
		if fault != "" {
			problems = append(problems, task.Problem{Location: at, Message: fault})
		}
	}
	if a.Reason == "" {
		bad("/reason", "say why; the reason is kept with the act")
	}
	if slices.Contains(kernel.ActKinds, a.Kind) && a.Actor == "" {
		bad("/"+actorField(a.Kind), "say who does it; the name is kept with the act")
	}
	if a.DiscardCheckpoint && a.Kind != kernel.ResetForRetry {
		bad("/discard_checkpoint", "goes with reset_for_retry only")
	}
	switch a.Kind {
	case kernel.ResetForRetry, kernel.ResolveManually, kernel.ApproveStep, kernel.RejectStep:
		if a.Result != nil || a.Metadata != nil {
			bad("/completion_data", "only complete_manually takes a result; use that, or leave completion_data out")
		}
	case kernel.CompleteManually:
		if a.Result == nil {
			bad("/completion_data/result", "complete_manually needs the result that dependants will read")
		}
		bad("/completion_data/result", check.Payload(a.Result, e.Cfg.Limits.PayloadBytes))
		bad("/completion_data/metadata", check.Payload(a.Metadata, e.Cfg.Limits.PayloadBytes))
	default:
		bad("/action_type", "must be reset_for_retry, resolve_manually, complete_manually, approve or reject")
	}
	return problems
}

func actorField(k kernel.ActKind) string {
	switch k {
	case kernel.ResetForRetry:
		return "reset_by"
	case kernel.CompleteManually:
		return "completed_by"
	case kernel.ApproveStep, kernel.RejectStep:
		return "decided_by"
	default:
		return "resolved_by"
	}
}

func operateOpen(u *kernel.Unit, w kernel.Work, a kernel.StepAct) error {
	seen := w.Step.Seen()
	if a.Kind == kernel.ApproveStep || a.Kind == kernel.RejectStep {
		if err := (kernel.Control{U: u}).BeginDue(w); err != nil {
			return err
		}
	}
	if err := a.Expect.Check(w.Step.Seen()); err != nil && a.Expect.Check(seen) != nil {
		return err
	}
	if w.Task.State.Terminal() {
		return task.Errorf(task.WrongState, "the task %s is %s; its steps cannot be changed any more", w.Task.ID,
			w.Task.State)
	}
	if err := compensationAllows(u, w); err != nil {
		return err
	}
	return operate(u, w, a)
}

func operate(u *kernel.Unit, w kernel.Work, a kernel.StepAct) error {
	from, taskWas := w.Step.State, w.Task.State
	if a.Kind == kernel.ApproveStep || a.Kind == kernel.RejectStep {
		return u.E.Points.DecideStep(u, w, a)
	}
	if err := change(u, w, a); err != nil {
		return err
	}
	if a.DiscardCheckpoint || w.Step.State.Satisfies() {
		kernel.DropCheckpoint(u, w)
	}
	u.Moved(w, from)
	if err := renewDeadline(u, w, taskWas); err != nil {
		return err
	}
	data, err := actData(a)
	if err != nil {
		return err
	}
	u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, TaskID: w.Task.ID, StepID: w.Step.ID, Kind: string(a.Kind),
		Actor:  a.Actor,
		Reason: a.Reason, From: string(from), To: string(w.Step.State), Data: data})
	// A reset step releases no dependants: they wait for its result.
	if !w.Step.State.Satisfies() {
		return nil
	}
	t, err := u.Rows.Template(w.Step.DefID)
	if err != nil {
		return err
	}
	return u.Satisfied(w, t)
}

func change(u *kernel.Unit, w kernel.Work, a kernel.StepAct) error {
	s := w.Step
	switch a.Kind {
	case kernel.ResetForRetry:
		if err := s.Reset(u.Now); err != nil {
			return hinted(err, "reset_for_retry is for a step in error or waiting for a retry")
		}
		return nil
	case kernel.CompleteManually:
		if task.LargeResultOf(s.ID, a.Result) != nil {
			return task.Errorf(task.Invalid, "the result is the reference to a large result of the step")
		}
		u.EndLease(s, task.StepComplete)
		return hinted(s.Succeed(u.Now, a.Result), "the step is settled already")
	default:
		u.EndLease(s, task.StepResolvedManually)
		return hinted(s.Resolve(u.Now), "the step is settled already")
	}
}

// renewDeadline restarts the duration of a task that leaves error: the time ran while the task could not. A future
// deadline of the submission stays. Compensation has no limit.
func renewDeadline(u *kernel.Unit, w kernel.Work, was task.State) error {
	if was != task.Errored {
		return nil
	}
	t, err := u.Rows.Template(w.Task.DefID)
	if err != nil {
		return err
	}
	if !t.Spec(w.Step).OnFailure {
		w.Task.RenewDeadline(u.Now, t.Lifecycle.MaxDuration)
		u.Rows.ChangedTask(w.Task)
	}
	return nil
}

func hinted(err error, hint string) error {
	var e *task.Error
	if errors.As(err, &e) {
		e.Hint = hint
	}
	return err
}

func actData(a kernel.StepAct) ([]byte, error) {
	if a.DiscardCheckpoint {
		return []byte(`{"discard_checkpoint":true}`), nil
	}
	if a.Kind != kernel.CompleteManually {
		return nil, nil
	}
	data, err := json.Marshal(struct {
		Result   json.RawMessage `json:"result"`
		Metadata json.RawMessage `json:"metadata,omitempty"`
	}{a.Result, a.Metadata})
	if err != nil {
		return nil, fmt.Errorf("encode act: %w", err)
	}
	return data, nil
}
