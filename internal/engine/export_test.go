package engine

// CatalogSize returns how many templates and routes the engine has in memory, and how many
// sets of waiting polls.
func (e *Engine) CatalogSize() (templates, routes, sets int) {
	e.catalog.mu.RLock()
	defer e.catalog.mu.RUnlock()
	e.waiters.mu.Lock()
	defer e.waiters.mu.Unlock()
	return len(e.catalog.byDef), len(e.catalog.byRoute), len(e.waiters.pollers.narrow) + len(e.waiters.pollers.wide)
}

// KeepRoutes sets how many routes without ready steps the engine keeps in memory.
func (e *Engine) KeepRoutes(n int) { e.catalog.eviction.limit = n }

// Forget is what a store calls when the database turns out to be another one.
func (e *Engine) Forget() { e.forget() }
