package engine

import "time"

// committed wakes the waiters for the effects of a committed transaction, and reports to the
// observer. repeats counts the earlier runs that were not committed. The order matters: routes
// are restored before the queue wakes polls, because a woken poll looks only at routes that the
// catalog has; the observer comes last, because it only reports.
func (e *Engine) committed(verb string, began time.Time, u *unit, repeats int) {
	e.restoreRoutes(u.wake.queued)
	e.queue.committed(u)
	if len(u.turns.added) > 0 && !e.byHand {
		e.turns.Post(struct{}{})
	}
	if u.ready.children.stirred && !e.byHand {
		e.children.Post(struct{}{})
	}
	if u.records.awaitsSignal() && !e.byHand {
		e.handOvers.Post(struct{}{})
	}
	if u.ready.gates.stirred() && !e.byHand {
		e.admits.Post(struct{}{})
	}
	e.permitsFreed(u.wake.permits)
	e.freed(u.wake.endedLeases, u.wake.count)
	e.publishBreakers(u)
	e.publishOutages(u)
	if u.observed.commit != nil {
		u.observed.commit.Repeats = repeats
	}
	e.observeCommit(verb, began, u)
}
