package engine

import (
	"context"
	"math"

	"github.com/taskerhq/tasker/internal/task"
)

// Depth counts the steps that wait on a route before a place in the order of (key,
// ID), up to limit: those that will go out first. With the zero ID these are the ones
// whose key is below. What somebody holds is not among them. It asks the dispatcher
// while that is the queue, else the store.
func (e *Engine) Depth(ctx context.Context, route, key int64, id task.ID, limit int) (int, error) {
	n, ok, err := fromDispatcher(ctx, e, func(d Dispatcher) (int, error) { return d.Depth(ctx, route, key, id) })
	if ok || err != nil {
		return min(n, limit), err
	}
	return e.store.Depth(ctx, route, key, id, limit)
}

// Ahead counts the steps that wait on any of the routes before a place in the order of
// (key, ID), up to limit.
func (e *Engine) Ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error) {
	n, ok, err := fromDispatcher(ctx, e, func(d Dispatcher) (total int, err error) {
		for _, r := range routes {
			n, err := d.Depth(ctx, r, key, id)
			if total += n; err != nil || total >= limit {
				return total, err
			}
		}
		return total, nil
	})
	if ok || err != nil {
		return min(n, limit), err
	}
	return e.store.Ahead(ctx, routes, key, id, limit)
}

// readyCounts counts the steps that wait on each route; of the store's, the first
// limit. Routes on which none do may be missing.
func (e *Engine) readyCounts(ctx context.Context, limit int) (map[int64]int, error) {
	if !e.dispatch.on() {
		return e.store.ReadyCounts(ctx, limit)
	}
	routes, err := e.store.Routes(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(routes))
	for i, r := range routes {
		ids[i] = r.ID
	}
	counts, ok, err := fromDispatcher(ctx, e, func(d Dispatcher) (map[int64]int, error) { return d.Waiting(ctx, ids) })
	if ok || err != nil {
		return counts, err
	}
	return e.store.ReadyCounts(ctx, limit)
}

// dispatchedHolds returns up to limit holds of the dispatcher, the ones to be looked after
// first at the head; nil while the store is the queue.
func (e *Engine) dispatchedHolds(ctx context.Context, limit int) ([]Hold, error) {
	holds, _, err := fromDispatcher(ctx, e, func(d Dispatcher) ([]Hold, error) { return d.Expired(ctx, task.Instant(math.MaxInt64), limit) })
	return holds, err // when it has just failed, they are stored in a moment
}
