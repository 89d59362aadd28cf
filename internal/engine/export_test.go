package engine

// CatalogSize returns how many templates and routes the engine has in memory, and how many
// sets of waiting polls.
func (e *Engine) CatalogSize() (templates, routes, seats int) {
	e.catalog.mu.RLock()
	defer e.catalog.mu.RUnlock()
	e.hub.mu.Lock()
	defer e.hub.mu.Unlock()
	return len(e.catalog.byDef), len(e.catalog.byRoute), len(e.hub.seats.narrow) + len(e.hub.seats.wide)
}

// KeepRoutes sets how many routes without ready steps the engine keeps in memory.
func (e *Engine) KeepRoutes(n int) { e.catalog.eviction.limit = n }

// Forget is what a store calls when the database turns out to be another one.
func (e *Engine) Forget() { e.forget() }
