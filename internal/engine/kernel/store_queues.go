package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// QueueStore reads a committed state.
type QueueStore interface {
	QueueCounts
	QueuePlaces
}

// QueueCounts counts whole queues, at a cost that grows with the steps, up to the limit.
type QueueCounts interface {
	// ReadyCounts counts the ready steps of each route among the first limit by (route, key).
	ReadyCounts(ctx context.Context, limit int) (map[int64]int, error)
	// CountPaused counts up to limit parked steps of paused templates.
	CountPaused(ctx context.Context, limit int) (int, error)
	// ReadySample returns the middle one of every stride ready steps, of the first limit by (route, key, ID).
	ReadySample(ctx context.Context, stride, limit int) ([]ReadyStep, error)
	LeasedCounts(ctx context.Context, limit int) ([]LeasedCount, error)
	// CountHeld leaves out workers that hold no steps.
	CountHeld(ctx context.Context) (map[int64]int, error)
}

// QueuePlaces reads positions in single queues.
type QueuePlaces interface {
	// Depth counts up to limit steps before a position by (key, ID). The zero ID means a lower key.
	Depth(ctx context.Context, queue, key int64, id task.ID, limit int) (int, error)
	// Ahead is Depth of at least one route.
	Ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error)
	// ReadyAfter returns up to limit steps of a route by (key, ID), after a position.
	ReadyAfter(ctx context.Context, route, key int64, id task.ID, limit int) ([]*task.Step, error)
	// First returns the step with the lowest key at or above from, or nil.
	First(ctx context.Context, queue, from int64) (*task.Step, error)
}

// ReadyStep is a step in a queue sample.
type ReadyStep struct {
	ID       task.ID
	Route    int64
	Priority int
	Key      int64
	ReadyAt  task.Instant
}

// LeasedCount is the number of leased steps of one kind.
type LeasedCount struct {
	Route    int64
	Priority int
	State    task.StepState
	Steps    int
}
