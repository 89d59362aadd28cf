package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// WatchStore schedules the staleness detector's checks of tasks.
type WatchStore interface {
	// Watch replaces earlier times of the tasks.
	Watch(ctx context.Context, tx Tx, watches []Watch) error
	// Rewatch moves watches to their Next, or deletes them when that is 0; it skips those changed since the read.
	Rewatch(ctx context.Context, tx Tx, moves []WatchMove) error
	// Watches returns up to limit watches behind one by time, up to a time.
	Watches(ctx context.Context, behind Watch, until task.Instant, limit int) ([]Watch, error)
	// CountWatches counts, of up to limit watches, those of unsettled tasks.
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
