package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// maxExpiries bounds the entries of a count of expiries.
const maxExpiries = 10_000

// Expiries counts the dispatches that expired in the queues of their workers at or after since and before until, by
// hour, worker and template, the latest hour first. It returns at most 10,000 entries.
func (e *Engine) Expiries(ctx context.Context, since, until task.Instant) ([]Expiry, error) {
	return e.expiryStore.Expiries(ctx, since, until, maxExpiries)
}
