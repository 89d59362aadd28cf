package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Depth counts the steps waiting on a route before a position (key, ID), up to limit; with the zero ID those with a
// lower key.
func (e *Engine) Depth(ctx context.Context, route, key int64, id task.ID, limit int) (int, error) {
	return e.queue.depth(ctx, route, key, id, limit)
}

// Ahead is Depth over several routes.
func (e *Engine) Ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error) {
	return e.queue.ahead(ctx, routes, key, id, limit)
}
