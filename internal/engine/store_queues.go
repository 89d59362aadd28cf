package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// QueueStore reads queues from a committed state.
type QueueStore interface {
	QueueCounts
	QueuePlaces
}

// QueueCounts counts whole queues. The cost of a method grows with the number of steps, up to its limit.
type QueueCounts interface {
	// ReadyCounts counts the ready steps of each route, of the first limit of all
	// routes together in the order of (route, key).
	ReadyCounts(ctx context.Context, limit int) (map[int64]int, error)
	// CountPaused counts the steps that pauses of templates have set aside, up to limit.
	CountPaused(ctx context.Context, limit int) (int, error)
	// ReadySample returns one of every stride ready steps, the middle one, of the
	// first limit of all routes together in the order of (route, key, ID).
	ReadySample(ctx context.Context, stride, limit int) ([]ReadyStep, error)
	// LeasedCounts counts up to limit leased steps by route, priority and state.
	LeasedCounts(ctx context.Context, limit int) ([]LeasedCount, error)
	// CountHeld counts the steps that workers hold, by their numbers. Workers that hold none are left out.
	CountHeld(ctx context.Context) (map[int64]int, error)
}

// QueuePlaces reads positions in single queues.
type QueuePlaces interface {
	// Depth counts the steps in a queue before a position in the order of (key, ID), up to limit. With the zero ID
	// these are the steps with a lower key.
	Depth(ctx context.Context, queue, key int64, id task.ID, limit int) (int, error)
	// Ahead is Depth of several routes together; there is at least one.
	Ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error)
	// ReadyAfter returns up to limit steps of a route in the order of (key, ID), after the given position.
	ReadyAfter(ctx context.Context, route, key int64, id task.ID, limit int) ([]*task.Step, error)
	// First returns the step in a queue with the lowest key at or above from, or nil.
	First(ctx context.Context, queue, from int64) (*task.Step, error)
}

// ReadyStep is the part of a step that a queue sample contains.
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
