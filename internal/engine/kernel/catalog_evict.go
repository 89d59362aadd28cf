package kernel

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/model/task"
)

// eviction removes, beyond the limit, the least recently used routes without a ready step. A route returns when a
// step becomes ready on it. Ages are counts: the n-th added route has age n, and use stamps a route with the present
// count.
type eviction struct {
	limit    int // routes kept without a ready step
	occupied func(ctx context.Context, routes []*task.Route) ([]*task.Route, error)
	dropped  func(routes []int64)

	creating chan struct{} // a token, held while a caller stores a new route or template
	evicting sync.Mutex

	age    atomic.Int64 // routes ever added
	next   atomic.Int64 // no eviction before this age
	newest atomic.Int64 // highest route number ever seen
	cursor atomic.Int64 // of loadNextPage
}

func newEviction() eviction {
	return eviction{limit: maxCached, creating: make(chan struct{}, 1), dropped: func([]int64) {}}
}

// create serialises storing new routes and templates, because callers count first. The caller must call leave.
func (v *eviction) create(ctx context.Context) (leave func(), err error) {
	select {
	case v.creating <- struct{}{}:
		return func() { <-v.creating }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// use runs for each step that becomes ready, so it writes only changes.
func (v *eviction) use(r *knownRoute) {
	if now := v.age.Load(); r.used.Load() != now {
		r.used.Store(now)
	}
}

func (v *eviction) saw(id int64) { v.newest.Store(max(v.newest.Load(), id)) }

func (v *eviction) forget() {
	v.newest.Store(0)
	v.cursor.Store(0)
}

// evict removes first and checks then: a step that becomes ready meanwhile misses its route and restores it
// (ensureRoutes).
func (c *catalog) evict(ctx context.Context) error {
	v := &c.eviction
	c.mu.RLock()
	n := len(c.byRoute)
	c.mu.RUnlock()
	if n <= v.limit || v.age.Load() < v.next.Load() || !v.evicting.TryLock() {
		return nil
	}
	defer v.evicting.Unlock()
	gone := c.removeOldest(n - v.limit*3/4)
	occupied, err := v.occupied(ctx, gone)
	if err != nil {
		c.addRoutes(gone...)
		return err
	}
	c.addRoutes(occupied...)
	v.dropped(numbers(gone))
	// routes that stay for their ready steps are not checked again soon
	v.next.Store(v.age.Load() + int64(v.limit/4))
	return nil
}

func (c *catalog) removeOldest(n int) []*task.Route {
	c.mu.Lock()
	defer c.mu.Unlock()
	oldest := slices.Collect(maps.Values(c.byRoute))
	slices.SortFunc(oldest, func(a, b *knownRoute) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	gone := make([]*task.Route, 0, n)
	for _, known := range oldest[:min(n, len(oldest))] {
		delete(c.routes, nameOfRoute(*known.Route))
		delete(c.byRoute, known.ID)
		gone = append(gone, known.Route)
	}
	c.dropClosed(gone)
	c.dropLimited(gone)
	for _, k := range c.kinds {
		k.remove(gone)
	}
	return gone
}

func (s *servedRoutes) remove(routes []*task.Route) {
	if !s.any(routes) {
		return
	}
	gone := make(map[int64]struct{}, len(routes))
	for _, r := range routes {
		gone[r.ID] = struct{}{}
	}
	list := slices.DeleteFunc(slices.Clone(s.routes()), func(r int64) bool { _, found := gone[r]; return found })
	s.list.Store(&list)
}

func numbers(routes []*task.Route) []int64 {
	ids := make([]int64, len(routes))
	for i, r := range routes {
		ids[i] = r.ID
	}
	return ids
}

func (e *Kernel) occupied(ctx context.Context, routes []*task.Route) ([]*task.Route, error) {
	if e.Cluster != nil {
		counts, err := e.Cluster.Occupied(ctx, numbers(routes), 1)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(slices.Clone(routes), func(r *task.Route) bool { return counts[r.ID] == 0 }), nil
	}
	var some []*task.Route
	for _, r := range routes {
		head, err := e.Places.First(ctx, r.ID, math.MinInt64)
		if err != nil {
			return nil, err
		}
		if head != nil {
			some = append(some, r)
		}
	}
	return some, nil
}

// RestoreRoutes makes polls read the routes before they try again, if the store fails.
func (e *Kernel) RestoreRoutes(steps map[int64]int) {
	if len(steps) == 0 {
		return
	}
	if err := e.Catalog.ensureRoutes(context.Background(), maps.Keys(steps)); err != nil {
		e.Catalog.forgets.Add(1)
	}
}

// CatalogSize counts what the catalog keeps, for tests.
func (e *Kernel) CatalogSize() (templates, routes, sets int) {
	e.Catalog.mu.RLock()
	defer e.Catalog.mu.RUnlock()
	e.waiters.mu.Lock()
	defer e.waiters.mu.Unlock()
	return len(e.Catalog.byDef), len(e.Catalog.byRoute), len(e.waiters.pollers.narrow) + len(e.waiters.pollers.wide)
}

// KeepRoutes sets the number of routes that the catalog keeps, for tests.
func (e *Kernel) KeepRoutes(n int) { e.Catalog.eviction.limit = n }
