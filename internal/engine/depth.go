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
	if e.dispatch.on() {
		n, err := e.dispatch.d.Depth(ctx, route, key, id)
		if err == nil {
			return min(n, limit), nil
		}
		if ctx.Err() != nil {
			return 0, err
		}
		e.dispatchFailed(err)
	}
	return e.store.Depth(ctx, route, key, id, limit)
}

// readyCounts counts the steps that wait on each route; of the store's, the first
// limit. Routes on which none do may be missing.
func (e *Engine) readyCounts(ctx context.Context, limit int) (map[int64]int, error) {
	if e.dispatch.on() {
		counts, err := e.dispatchedCounts(ctx)
		if err == nil {
			return counts, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		e.dispatchFailed(err)
	}
	return e.store.ReadyCounts(ctx, limit)
}

func (e *Engine) dispatchedCounts(ctx context.Context) (map[int64]int, error) {
	routes, err := e.store.Routes(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(routes))
	for i, r := range routes {
		ids[i] = r.ID
	}
	return e.dispatch.d.Waiting(ctx, ids)
}

// holdsThere returns up to limit holds of the dispatcher, the ones to be looked after
// first at the head; nil while the store is the queue.
func (e *Engine) holdsThere(ctx context.Context, limit int) ([]Hold, error) {
	if !e.dispatch.on() {
		return nil, nil
	}
	holds, err := e.dispatch.d.Expired(ctx, task.Instant(math.MaxInt64), limit)
	if err != nil && ctx.Err() == nil {
		e.dispatchFailed(err)
		return nil, nil // they are stored in a moment
	}
	return holds, err
}
