package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/task"
)

// ReadQueues is the part of Reader that looks at queues as a whole. What a method
// costs grows with the number of steps, up to its limit.
type ReadQueues interface {
	// ReadyCounts counts the ready steps of each route, of the first limit of all
	// routes together in the order of (route, key).
	ReadyCounts(ctx context.Context, limit int) (map[int64]int, error)
	// ReadySample returns one of every stride ready steps, the middle one, of the
	// first limit of all routes together in the order of (route, key, ID).
	ReadySample(ctx context.Context, stride, limit int) ([]ReadyStep, error)
	// LeasedCounts counts up to limit leased steps by route, priority and state.
	LeasedCounts(ctx context.Context, limit int) ([]LeasedCount, error)
}

// ReadyStep is what a look at a queue shows of a step.
type ReadyStep struct {
	ID       task.ID
	Route    int64
	Priority int
	Key      int64
	ReadyAt  task.Instant
}

// LeasedCount is how many steps of a kind are leased.
type LeasedCount struct {
	Route    int64
	Priority int
	State    task.StepState
	Steps    int
}
