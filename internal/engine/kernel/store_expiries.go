package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// ExpiryStore counts dispatches that expired in workers' queues.
type ExpiryStore interface {
	// Expiries counts those from since until before until, by hour (latest first), worker and template. It returns at
	// most limit entries.
	Expiries(ctx context.Context, since, until task.Instant, limit int) ([]Expiry, error)
}

// Expiry counts an hour's expired dispatches of a worker and a template.
type Expiry struct {
	Hour   task.Instant
	Worker int64
	DefID  int64
	Count  int
	Last   task.Instant
}
