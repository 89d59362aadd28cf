package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// OperatorLimitStore keeps operators' limits, one for each target, and ended ones for a while. GateStore has the
// permits, under task.PauseTarget.LimitNo.
type OperatorLimitStore interface {
	// SaveLimit replaces an earlier limit of the target.
	SaveLimit(ctx context.Context, tx Tx, l *task.OperatorLimit) error
	// LockLimits returns limits in force or ended, locked in the order of their numbers.
	LockLimits(ctx context.Context, tx Tx, nos []int64) ([]task.OperatorLimit, error)
	// DropLimits deletes up to limit limits that ended before a time.
	DropLimits(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
	// OperatorLimits returns up to limit committed limits, those in force first, then by target.
	OperatorLimits(ctx context.Context, limit int) ([]task.OperatorLimit, error)

	// FindLimits is LockLimits of a committed state.
	FindLimits(ctx context.Context, nos []int64) ([]task.OperatorLimit, error)

	// Permits.

	// AdoptPermits adds a permit for each leased step on the routes.
	AdoptPermits(ctx context.Context, tx Tx, no int64, routes []int64) error
	DropPermits(ctx context.Context, tx Tx, permits []Permit) error
	DropPermitsOf(ctx context.Context, tx Tx, no int64) error
	// HeldPermits leaves out limits without permits.
	HeldPermits(ctx context.Context, nos []int64) (map[int64]int, error)
}
