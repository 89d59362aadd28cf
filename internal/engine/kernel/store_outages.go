package kernel

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// BurstStore counts failures by route and fingerprint, in all processes.
type BurstStore interface {
	// AddBurst adds net failures as task.Burst.Add does, and returns the count. It locks the row, so concurrent
	// transactions add up.
	AddBurst(ctx context.Context, tx Tx, route, group int64, net int, now task.Instant, within time.Duration,
	) (task.Burst, error)
	ClearBursts(ctx context.Context, tx Tx, route int64) error
	// DropBursts deletes up to limit counts that began before a time.
	DropBursts(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
}

// OutageStore keeps outages: at most one open for each route, and closed ones.
type OutageStore interface {
	// AddOutage reports false, and stores nothing, if the route has an open outage.
	AddOutage(ctx context.Context, tx Tx, o *task.Outage) (bool, error)
	SaveOutage(ctx context.Context, tx Tx, o *task.Outage) error
	// OpenOutage returns the open outage of a route, locked, or nil.
	OpenOutage(ctx context.Context, tx Tx, route int64) (*task.Outage, error)
	// LockOutage returns an outage, locked, or nil.
	LockOutage(ctx context.Context, tx Tx, id task.ID) (*task.Outage, error)

	// Closed outages.

	// DropOutages deletes up to limit outages closed before a time.
	DropOutages(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
	// Outages returns committed outages, newest first.
	Outages(ctx context.Context, f OutageFilter) ([]*task.Outage, error)
	FindOutage(ctx context.Context, id task.ID) (*task.Outage, error)
}

// OutageFilter selects outages. Zero fields match all.
type OutageFilter struct {
	State      OutageState
	Namespaces []string
	Below      task.ID // exclusive; zero: the newest
	Limit      int
}

// OutageState is whether an outage is open.
type OutageState string

// The states of outages.
const (
	OutageOpen   OutageState = "open"
	OutageClosed OutageState = "closed"
)
