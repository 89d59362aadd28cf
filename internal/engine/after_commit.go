package engine

import "time"

// committed wakes those who wait for what a committed transaction did, and tells the observer of it. The
// transaction had to be repeated so many times.
func (e *Engine) committed(verb string, began time.Time, u *unit, repeats int) {
	e.restoreRoutes(u.wake.queued)
	e.queue.committed(u)
	e.freed(u.wake.endedLeases)
	e.publishBreakers(u)
	if u.observed.commit != nil {
		u.observed.commit.Repeats = repeats
	}
	e.observeCommit(verb, began, u)
}
