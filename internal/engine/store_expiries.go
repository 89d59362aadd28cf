package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// ExpiryStore counts the dispatches that expired in the queues of their workers.
type ExpiryStore interface {
	// Expiries counts those that expired at or after since and before until, by hour, worker and template, the latest
	// hour first, then by worker and template. It returns at most limit entries.
	Expiries(ctx context.Context, since, until task.Instant, limit int) ([]Expiry, error)
}

// Expiry counts the expired dispatches of an hour, a worker and a template.
type Expiry struct {
	Hour   task.Instant // its beginning
	Worker int64
	DefID  int64
	Count  int
	Last   task.Instant // when the last of them expired
}
