package acts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/cases"
	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Replay is a request to run a task in error again.
type Replay struct {
	Actor  string // default: the holder of the key, or Anonymous
	Reason string // default: NoReason
	Expect task.Expectation
	// ResetAttempts gives the failed steps all their attempts; otherwise the remaining ones, at least one.
	ResetAttempts bool
	// Priority is a new level's name or number; "" keeps it.
	Priority string
}

// Replayed is the effect of a replay.
type Replayed struct {
	Task     *task.Task
	Case     task.ID // the pending case, or zero
	Steps    int
	Attempts int // that the steps had used
}

// Replay runs every failed step of a task in error again. An act records it; the case stays pending, and counts it.
// WrongState: the task is not in error, or has no failed step. Conflict: it is not as expected. Invalid: actor,
// reason or priority. NotFound: there is no such task within the key's reach.
func (e *Room) Replay(ctx context.Context, id task.ID, r Replay) (*Replayed, error) {
	return e.replayTask(ctx, func(ctx context.Context, verb string, fn func(*kernel.Unit) error) error {
		if err := e.Write(ctx, verb, fn); err != nil {
			return e.unexpected(ctx, id, r.Expect, err)
		}
		return nil
	}, id, r)
}

// ReplayIn is Replay in the caller's transaction. A refusal may describe an older state.
func (e *Room) ReplayIn(ctx context.Context, tx kernel.Tx, id task.ID, r Replay) (*Replayed, error) {
	return e.replayTask(ctx, e.In(tx), id, r)
}

// The checks precede the transaction, so that a faulty request takes no lock.
func (e *Room) replayTask(ctx context.Context, run kernel.Transaction, id task.ID, r Replay) (*Replayed, error) {
	r.Actor, r.Reason = kernel.ActorOf(ctx, r.Actor), cmp.Or(r.Reason, kernel.NoReason)
	problems := check.Renamed(kernel.CheckActor(r.Actor, r.Reason), "/actor", "/replayed_by")
	problems = append(problems, kernel.ExpectFault(r.Expect, task.States)...)
	level, known := e.Level(r.Priority)
	if r.Priority != "" && !known {
		problems = append(problems, task.Problem{Location: "/new_priority",
			Message: fmt.Sprintf("%q is not a priority: use %s, or a level from 0 to %d", r.Priority, e.LevelNames(),
				task.MaxPriority)})
	}
	if len(problems) > 0 {
		return nil, check.Refusal("the task was not replayed", problems)
	}
	var out *Replayed
	err := run(ctx, "replay", func(u *kernel.Unit) error {
		t, err := u.ReachedTask(id)
		if err != nil {
			return err
		}
		if err := r.Expect.Check(t.Seen()); err != nil {
			return err
		}
		if t.State != task.Errored {
			return &task.Error{Code: task.WrongState,
				Message: fmt.Sprintf("the task %s is %s; only one in error can be replayed", id, t.State),
				Hint:    "a task that is over can be submitted again"}
		}
		out, err = ReplayTask(u, t, level, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// unexpected returns the reason of a refusal. A transaction may have read the task before a change and its steps
// after it, so that its refusal fits neither state; the answer is then that the task has changed.
func (e *Room) unexpected(ctx context.Context, id task.ID, x task.Expectation, refusal error) error {
	t, err := e.FindTask(ctx, id) // not beyond the key's reach
	if err != nil {
		return refusal
	}
	if moved := x.Check(t.Seen()); moved != nil {
		return moved
	}
	return refusal
}

// ReplayTask is for a task in error. level counts only with r.Priority.
func ReplayTask(u *kernel.Unit, t *task.Task, level int, r Replay) (*Replayed, error) {
	steps, err := u.Rows.Siblings(kernel.Family{Task: t.ID})
	if err != nil {
		return nil, err
	}
	out := &Replayed{Task: t}
	if out.Case, err = cases.PendingCase(u, t); err != nil {
		return nil, err
	}
	before, moves := *t, r.Priority != ""
	compensated, err := compensationBegun(u, t)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		if moves && s.Priority != level && !s.State.Terminal() {
			s.Priority = level
			u.Rows.ChangedStep(s)
		}
		if s.State != task.StepErrored {
			continue
		}
		if compensated != nil && !compensated.Spec(s).OnFailure {
			continue
		}
		out.Steps++
		out.Attempts += s.Attempts
		if err := repeat(u, kernel.Work{Step: s, Task: t}, r); err != nil {
			return nil, err
		}
	}
	if out.Steps == 0 && compensated != nil {
		return nil, errCompensated(t)
	}
	if out.Steps == 0 {
		return nil, &task.Error{Code: task.WrongState,
			Message: fmt.Sprintf("no step of the task %s has failed; there is nothing to replay", t.ID),
			Hint:    "tasker task explain says what it waits for"}
	}
	if compensated == nil {
		err = renewDeadline(u, kernel.Work{Step: steps[0], Task: t}, before.State)
	}
	if err != nil {
		return nil, err
	}
	if moves {
		t.Priority = level
	}
	t.Meta.Replays++
	t.Meta.ReplayedAt, t.Meta.ReplayedBy, t.Meta.ReplayedKey = u.Now, r.Actor, u.Key
	u.Rows.ChangedTask(t)
	cc := cases.CaseSlot.Of(u)
	cc.Replayed = kernel.With(cc.Replayed, t)
	if err := u.Reevaluate(t); err != nil {
		return nil, err
	}
	return out, actOfReplay(u, &before, t, out, r)
}

// Without a reset a step keeps its used attempts, with at least one left.
func repeat(u *kernel.Unit, w kernel.Work, r Replay) error {
	from, again := w.Step.State, w.Step.Repeat
	if r.ResetAttempts {
		again = w.Step.Reset
	}
	if err := again(u.Now); err != nil {
		return err
	}
	u.Moved(w, from)
	u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, TaskID: w.Task.ID, StepID: w.Step.ID,
		Kind: task.ActReplayStep, Actor: r.Actor, Reason: r.Reason,
		From: string(from), To: string(w.Step.State)})
	return nil
}

func actOfReplay(u *kernel.Unit, before, t *task.Task, out *Replayed, r Replay) error {
	// The audit trail has these names: add fields, never rename them.
	data := struct {
		ResetRetryCount bool   `json:"reset_retry_count"`
		Steps           int    `json:"steps"`
		Attempts        int    `json:"attempts_used"`
		Replay          int    `json:"replay"`
		NewPriority     string `json:"new_priority,omitempty"`
		OldPriority     string `json:"old_priority,omitempty"`
	}{ResetRetryCount: r.ResetAttempts, Steps: out.Steps, Attempts: out.Attempts, Replay: t.Meta.Replays}
	if before.Priority != t.Priority {
		data.NewPriority, data.OldPriority = u.E.PriorityName(t.Priority), u.E.PriorityName(before.Priority)
	}
	b, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, TaskID: t.ID, CaseID: out.Case, Kind: task.ActReplay,
		Actor: r.Actor, Reason: r.Reason,
		From: string(before.State), To: string(t.State), Data: b})
	return nil
}
