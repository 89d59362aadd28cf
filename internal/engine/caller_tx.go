package engine

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

// transaction is Engine.write, or Engine.in a caller's transaction.
type transaction func(ctx context.Context, verb string, fn func(u *unit) error) error

// in serves no polls, because the transaction may stay open for long; the commit wakes them.
func (e *Engine) in(tx Tx) transaction {
	return func(ctx context.Context, verb string, fn func(u *unit) error) error {
		u := newUnit(ctx, e, tx)
		u.key, u.queues = KeyOf(ctx), true
		enter := e.follow(u, verb)
		u.external = enter == nil
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
func (e *Engine) follow(u *unit, verb string) (enter func()) {
	began, pass, saved := e.startObserving(), e.feed.Begin(), false
	observed := u.tx.Handle().AfterCommit(func() {
		pass.End(verb, nil)
		if saved {
			u.observed.verb, u.observed.began = verb, began
			u.committed()
		}
	})
	if !observed {
		pass.End(verb, nil)
		return nil
	}
	u.tx.Handle().AfterRollback(func(sure bool) {
		if sure {
			pass.Restart() // while queued, End would report that something may be missing
		}
		pass.End(verb, errRolledBack)
	})
	u.observed.recording = pass.Recorded
	return func() {
		saved = true
		pass.Enter(u.observed.changes)
	}
}

var errRolledBack = errors.New("the caller's transaction was rolled back")
