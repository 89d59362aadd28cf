package engine

func (e *Engine) CatalogSize() (templates, routes, sets int) {
	e.catalog.mu.RLock()
	defer e.catalog.mu.RUnlock()
	e.waiters.mu.Lock()
	defer e.waiters.mu.Unlock()
	return len(e.catalog.byDef), len(e.catalog.byRoute), len(e.waiters.pollers.narrow) + len(e.waiters.pollers.wide)
}

func (e *Engine) KeepRoutes(n int) { e.catalog.eviction.limit = n }

// Forget is called by stores after a change of the database.
func (e *Engine) Forget() { e.forget() }

// Polled reports whether a poll of the worker waits.
func (e *Engine) Polled(worker int64) bool {
	return len(e.waiters.polling(map[int64]struct{}{worker: {}})) > 0
}
