package engine

// afterCommit wakes those who wait for what a committed transaction did.
func (e *Engine) afterCommit(u *unit) {
	e.restoreRoutes(u.wake.queued)
	e.queue.committed(u)
}
