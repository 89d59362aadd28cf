package acts

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/engine/submit"
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
func (e *Room) Cancel(ctx context.Context, ids []task.ID, c Cancellation) ([]submit.Receipt, error) {
	return e.cancelTasks(ctx, e.Write, ids, c)
}

// CancelIn is Cancel in a transaction that the caller has begun.
func (e *Room) CancelIn(ctx context.Context, tx kernel.Tx, ids []task.ID, c Cancellation) ([]submit.Receipt, error) {
	return e.cancelTasks(ctx, e.In(tx), ids, c)
}

func (e *Room) cancelTasks(ctx context.Context, run kernel.Transaction, ids []task.ID,
	c Cancellation,
) ([]submit.Receipt, error) {
	if err := check.Batch("/task_uuids", len(ids), e.Cfg.Limits.BatchItems); err != nil {
		return nil, err
	}
	c.Actor, c.Reason = kernel.ActorOf(ctx, c.Actor), cmp.Or(c.Reason, kernel.NoReason)
	problems := append(kernel.CheckActor(c.Actor, c.Reason), kernel.ExpectFault(c.Expect, task.States)...)
	if len(problems) > 0 {
		return nil, check.Refusal("nothing was cancelled", problems)
	}
	out := make([]submit.Receipt, len(ids))
	err := run(ctx, "cancel", func(u *kernel.Unit) error {
		if err := u.Rows.GatherTasks(ids); err != nil {
			return err
		}
		for i, id := range ids {
			r, err := Cancel(u, id, c)
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

func Cancel(u *kernel.Unit, id task.ID, c Cancellation) (submit.Receipt, error) {
	r := submit.Receipt{ID: id}
	t, err := u.ReachedTask(id)
	switch {
	case task.CodeOf(err) == task.NotFound:
		r.Err = err
		return r, nil
	case err != nil:
		return submit.Receipt{}, err
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
	t.Meta.CancelledKey = u.Key
	if err := u.End(t, c.Actor, c.Reason, "cancelled"); err != nil {
		return r, err
	}
	u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, TaskID: id, Kind: "cancel", Actor: c.Actor,
		Reason: c.Reason, From: string(was), To: string(t.State)})
	r.State = t.State
	return r, nil
}
