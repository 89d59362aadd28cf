package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// WatchStore stores the schedule of the staleness detector: when it checks which task again.
type WatchStore interface {
	// Watch stores the times of the next checks of tasks, instead of earlier ones.
	Watch(ctx context.Context, tx Tx, watches []Watch) error
	// Rewatch moves watches to their Next, or deletes them when that is 0; it skips those that have changed since they
	// were read.
	Rewatch(ctx context.Context, tx Tx, moves []WatchMove) error
	// Watches returns up to limit watches behind one, in the order of their time and
	// up to a time.
	Watches(ctx context.Context, behind Watch, until task.Instant, limit int) ([]Watch, error)
	// CountWatches counts those of up to limit watches whose tasks are not settled.
	CountWatches(ctx context.Context, limit int) (int, error)
}

// Watch is the time of a task's next check.
type Watch struct {
	Task task.ID
	At   task.Instant
}

// WatchMove is a change of a watch.
type WatchMove struct {
	Watch
	Next task.Instant
}
