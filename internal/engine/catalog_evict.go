package engine

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/task"
)

// eviction keeps the number of routes in a catalog bounded. Beyond the limit those leave
// that were not used for the longest time and have no ready step. Where a step becomes ready
// on a route that has left, the route comes back, and wakes the polls that serve it.
type eviction struct {
	limit    int // how many routes are kept that have no ready step
	occupied func(ctx context.Context, routes []*task.Route) ([]*task.Route, error)
	dropped  func(routes []int64)

	creating chan struct{} // holds one token while somebody stores a new route or template
	evicting sync.Mutex

	age    atomic.Int64 // how many routes were ever added
	next   atomic.Int64 // the age until which there is no other look
	newest atomic.Int64 // the highest number of a route that was ever known
	cursor atomic.Int64 // of lookOn
}

func newEviction() eviction {
	return eviction{limit: maxCached, creating: make(chan struct{}, 1), dropped: func([]int64) {}}
}

// create waits for its turn to store a new route or template, so that two do not count at
// the same time. The caller has to call leave.
func (v *eviction) create(ctx context.Context) (leave func(), err error) {
	select {
	case v.creating <- struct{}{}:
		return func() { <-v.creating }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// use notes that a route is used. It is called for each step that becomes ready, so it writes
// only what has changed.
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

// evict takes routes out once there are too many. They go first and are looked at then: a
// step that becomes ready meanwhile finds its route missing and brings it back (recall).
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
	// those that stay because they have ready steps are not looked at again at once
	v.next.Store(v.age.Load() + int64(v.limit/4))
	return nil
}

// removeOldest removes the routes that were not used for the longest time, and returns them.
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
	for _, k := range c.kinds {
		k.remove(gone)
	}
	return gone
}

// remove takes routes off the list.
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

// occupied returns those of the routes that have a ready step.
func (e *Engine) occupied(ctx context.Context, routes []*task.Route) ([]*task.Route, error) {
	if e.cluster != nil {
		counts, err := e.cluster.Occupied(ctx, numbers(routes), 1)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(slices.Clone(routes), func(r *task.Route) bool { return counts[r.ID] == 0 }), nil
	}
	var some []*task.Route
	for _, r := range routes {
		head, err := e.queueStore.First(ctx, r.ID, math.MinInt64)
		if err != nil {
			return nil, err
		}
		if head != nil {
			some = append(some, r)
		}
	}
	return some, nil
}

// restoreRoutes brings back the routes of steps that became ready. When the store does not answer,
// polls read the routes before they look again.
func (e *Engine) restoreRoutes(steps map[int64]int) {
	if len(steps) == 0 {
		return
	}
	if err := e.catalog.ensureRoutes(context.Background(), maps.Keys(steps)); err != nil {
		e.catalog.forgotten.Store(true)
	}
}
