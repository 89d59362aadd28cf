package engine

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Cancellation is the actor and the reason of a cancellation, and the state that the caller expects.
type Cancellation struct {
	Actor  string
	Reason string
	Expect task.Expectation
}

// Cancel cancels tasks and their unsettled steps in one transaction, and answers each in order. A repetition keeps
// the first actor and reason. Receipts: WrongState for a task that ended otherwise, Conflict for one not as expected,
// NotFound out of the key's reach. Defaults are the key's holder or Anonymous, and NoReason.
func (e *Engine) Cancel(ctx context.Context, ids []task.ID, c Cancellation) ([]Receipt, error) {
	return e.cancelTasks(ctx, e.write, ids, c)
}

// CancelIn is Cancel in a transaction that the caller has begun.
func (e *Engine) CancelIn(ctx context.Context, tx Tx, ids []task.ID, c Cancellation) ([]Receipt, error) {
	return e.cancelTasks(ctx, e.in(tx), ids, c)
}

func (e *Engine) cancelTasks(ctx context.Context, run transaction, ids []task.ID, c Cancellation) ([]Receipt, error) {
	if err := check.Batch("/task_uuids", len(ids), e.cfg.Limits.BatchItems); err != nil {
		return nil, err
	}
	c.Actor, c.Reason = ActorOf(ctx, c.Actor), cmp.Or(c.Reason, NoReason)
	if problems := append(CheckActor(c.Actor, c.Reason), expectFault(c.Expect, task.States)...); len(problems) > 0 {
		return nil, check.Refusal("nothing was cancelled", problems)
	}
	out := make([]Receipt, len(ids))
	err := run(ctx, "cancel", func(u *unit) error {
		if err := u.rows.gatherTasks(ids); err != nil {
			return err
		}
		for i, id := range ids {
			r, err := u.cancel(id, c)
			if err != nil {
				return err
			}
			out[i] = r
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (u *unit) cancel(id task.ID, c Cancellation) (Receipt, error) {
	r := Receipt{ID: id}
	t, err := u.reachedTask(id)
	switch {
	case task.CodeOf(err) == task.NotFound:
		r.Err = err
		return r, nil
	case err != nil:
		return Receipt{}, err
	case c.Expect.Check(t.Seen()) != nil:
		r.State, r.Err = t.State, c.Expect.Check(t.Seen())
	case t.State == task.Cancelled: // perhaps because the answer was lost
		r.State = t.State
		return r, nil
	case t.State.Terminal():
		r.State = t.State
		r.Err = task.Errorf(task.WrongState, "the task %s is %s and cannot be cancelled", id, t.State)
		return r, nil
	}
	was := t.State
	t.Meta.CancelledKey = u.key
	if err := u.end(t, c.Actor, c.Reason, "cancelled"); err != nil {
		return r, err
	}
	u.records.acts = append(u.records.acts, task.Act{At: u.now, TaskID: id, Kind: "cancel", Actor: c.Actor,
		Reason: c.Reason, From: string(was), To: string(t.State)})
	r.State = t.State
	return r, nil
}
