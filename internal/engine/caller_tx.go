package engine

import (
	"context"
	"errors"
)

// Verbs can run in a transaction that the caller began with Write. When a verb returns an error, the caller must
// return one from Write too, because the transaction contains the verb's writes up to the error.
//
// If the store observes the commit (Handle.AfterCommit), the engine reports the effects then. It does not for
// connections of the caller (postgres.WriteExternal): the commit notifies processes of ready steps, PollPeers
// completes waits and streams that name the task, and MaintainDispatch gives the steps to the dispatcher. Streams of
// all tasks and the observer miss these changes.

// transaction runs fn on a unit of work, in its own transaction (Engine.write) or the caller's (Engine.in).
type transaction func(ctx context.Context, verb string, fn func(u *unit) error) error

// in returns the caller's transaction. It serves no polls, because it may stay open for long; they are woken after
// the commit.
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

// follow reports the unit after its commit if enter was called when the unit was saved. enter is nil where the store
// cannot observe the commit.
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
			pass.Restart() // queued, End would report that something may be missing
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
