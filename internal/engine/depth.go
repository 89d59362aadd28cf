package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Depth counts the steps that wait on a route before a position in the order of (key, ID), up to limit: those that will
// be handed out first. With the zero ID these are the steps with a lower key. Steps held by workers do not count.
func (e *Engine) Depth(ctx context.Context, route, key int64, id task.ID, limit int) (int, error) {
	return e.queue.depth(ctx, route, key, id, limit)
}

// Ahead counts the steps that wait on any of the routes before a position in the order of (key, ID), up to limit.
func (e *Engine) Ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error) {
	return e.queue.ahead(ctx, routes, key, id, limit)
}
