package engine

import (
	"context"
	"errors"
)

// Verbs can run in a transaction that the caller has begun with Write, together with rows of the caller's own domain.
//
// When such a verb returns an error, the caller must return one from Write too: the writes of the verb up to the error
// are part of the transaction.
//
// The engine reports the effects with the commit, if its store observes the commit (Handle.AfterCommit). It does not
// where the transaction is on a connection of the caller (postgres.WriteExternal). Then the commit itself notifies the
// processes of ready steps, so that polls find them. The rest is found by polling: PollPeers wakes callers who wait for
// a task, and completes streams that name the task; MaintainDispatch gives the steps to the dispatcher. Streams of all
// tasks and the observer do not receive these changes.

// transaction runs fn on a unit of work: in its own transaction (Engine.write), or in the caller's (Engine.in).
type transaction func(ctx context.Context, verb string, fn func(u *unit) error) error

// in returns the transaction that the caller has begun. It serves no polls, because it may stay open for long: they are
// woken after the commit. Listeners, the observer, other processes and the dispatcher receive its effects only then,
// too. The commit of a transaction that ends elsewhere (see Handle) is not reported to any of them.
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

// follow reports the unit to waiters and listeners after its commit, provided that enter is called when the unit is
// saved. enter is nil where the store cannot observe the commit.
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
			pass.Restart() // in line, End would report that something may be missing
		}
		pass.End(verb, errRolledBack)
	})
	u.observed.recording = pass.Recorded
	return func() {
		saved = true
		pass.Enter(u.observed.changes)
	}
}

// errRolledBack ends the feed's record of changes that never happened.
var errRolledBack = errors.New("the caller's transaction was rolled back")
