package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Depth counts the steps waiting on a route before a position (key, ID), up to limit; with the zero ID those with a
// lower key.
func (e *Kernel) Depth(ctx context.Context, route, key int64, id task.ID, limit int) (int, error) {
	return e.Queue.depth(ctx, route, key, id, limit)
}

// Ahead is Depth over several routes.
func (e *Kernel) Ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error) {
	return e.Queue.ahead(ctx, routes, key, id, limit)
}
