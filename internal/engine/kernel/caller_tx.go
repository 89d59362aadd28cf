package kernel

import (
	"context"
	"errors"
)

// Verbs can run in a transaction that the caller began with Write. If one returns an error, the caller must return
// one from Write too, because the verb may have written.
//
// If the store observes the commit (Handle.AfterCommit), the engine reports the effects then. For connections of the
// caller (postgres.WriteExternal) it does not: the commit notifies processes of ready steps, PollPeers completes
// waits and streams that name the task, and MaintainDispatch informs the dispatcher. Streams of all tasks and the
// observer miss these changes.

// Transaction is Engine.write, or Engine.in a caller's transaction.
type Transaction func(ctx context.Context, verb string, fn func(u *Unit) error) error

// In serves no polls, because the transaction may stay open for long; the commit wakes them.
func (e *Kernel) In(tx Tx) Transaction {
	return func(ctx context.Context, verb string, fn func(u *Unit) error) error {
		u := NewUnit(ctx, e, tx)
		u.Key, u.Queues = KeyOf(ctx), true
		enter := e.follow(u, verb)
		u.External = enter == nil
		if err := fn(u); err != nil {
			return err
		}
		if err := u.flush(); err != nil {
			return err
		}
		if enter != nil {
			enter()
		}
		return nil
	}
}

// follow reports the unit after its commit if enter was called; enter is nil where the store cannot observe the
// commit.
func (e *Kernel) follow(u *Unit, verb string) (enter func()) {
	began, pass, saved := e.startObserving(), e.feed.Begin(), false
	observed := u.Tx.Handle().AfterCommit(func() {
		pass.End(verb, nil)
		if saved {
			u.Observed.verb, u.Observed.began = verb, began
			u.committed()
		}
	})
	if !observed {
		pass.End(verb, nil)
		return nil
	}
	u.Tx.Handle().AfterRollback(func(sure bool) {
		if sure {
			pass.Restart() // while queued, End would report that something may be missing
		}
		pass.End(verb, errRolledBack)
	})
	u.Observed.recording = pass.Recorded
	return func() {
		saved = true
		pass.Enter(u.Observed.changes)
	}
}

var errRolledBack = errors.New("the caller's transaction was rolled back")
