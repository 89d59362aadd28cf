package engine

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// BurstStore counts failures with one fingerprint on a route, of all processes together.
type BurstStore interface {
	// AddBurst adds net failures to the count of a fingerprint on a route as task.Burst.Add does, and returns the count.
	// The row is locked. Of two transactions that add, the second sees what the first has added.
	AddBurst(ctx context.Context, tx Tx, route, group int64, net int, now task.Instant, within time.Duration,
	) (task.Burst, error)
	// ClearBursts deletes the counts of a route.
	ClearBursts(ctx context.Context, tx Tx, route int64) error
	// DropBursts deletes up to limit counts that began before a time, and returns how many.
	DropBursts(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
}

// OutageStore keeps outages: one open at most for each route, and those that are closed.
type OutageStore interface {
	// AddOutage stores a new outage. It reports false, and stores nothing, if its route has one that is open.
	AddOutage(ctx context.Context, tx Tx, o *task.Outage) (bool, error)
	// SaveOutage stores a changed outage.
	SaveOutage(ctx context.Context, tx Tx, o *task.Outage) error
	// OpenOutage returns the open outage of a route, locked, or nil.
	OpenOutage(ctx context.Context, tx Tx, route int64) (*task.Outage, error)
	// LockOutage returns an outage, locked, or nil.
	LockOutage(ctx context.Context, tx Tx, id task.ID) (*task.Outage, error)

	// After they were closed.

	// DropOutages deletes up to limit outages that were closed before a time, and returns how many.
	DropOutages(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
	// Outages returns outages of a committed state, the newest first.
	Outages(ctx context.Context, f OutageFilter) ([]*task.Outage, error)
	// FindOutage returns an outage of a committed state, or nil.
	FindOutage(ctx context.Context, id task.ID) (*task.Outage, error)
}

// OutageFilter selects outages. Zero fields do not restrict.
type OutageFilter struct {
	State      OutageState
	Namespaces []string
	Below      task.ID // exclusive; zero starts at the newest
	Limit      int
}

// OutageState is whether an outage is open.
type OutageState string

// The states of outages.
const (
	OutageOpen   OutageState = "open"
	OutageClosed OutageState = "closed"
)
