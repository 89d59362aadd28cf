package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

const maxExpiries = 10_000

// Expiries counts dispatches that expired in the queues of their workers in [since, until), by hour, worker and
// template, the latest hour first: at most 10,000 entries.
func (e *Kernel) Expiries(ctx context.Context, since, until task.Instant) ([]Expiry, error) {
	return e.expiryStore.Expiries(ctx, since, until, maxExpiries)
}
