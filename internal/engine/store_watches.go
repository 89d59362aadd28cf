package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/task"
)

// WatchStore is what the staleness detector remembers: when it looks at which task again.
type WatchStore interface {
	// Watch stores when tasks have to be looked at, whatever was stored before.
	Watch(ctx context.Context, tx Tx, watches []Watch) error
	// Rewatch moves watches to their Next, or deletes them when that is 0; those
	// that are not as they were seen are left alone.
	Rewatch(ctx context.Context, tx Tx, moves []WatchMove) error
	// Watches returns up to limit watches behind one, in the order of their time and
	// up to a time.
	Watches(ctx context.Context, behind Watch, until task.Instant, limit int) ([]Watch, error)
	// CountWatches counts those of up to limit watches whose tasks are not settled.
	CountWatches(ctx context.Context, limit int) (int, error)
}

// Watch says when a task has to be looked at.
type Watch struct {
	Task task.ID
	At   task.Instant
}

// WatchMove is what becomes of a watch.
type WatchMove struct {
	Watch
	Next task.Instant
}
