package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// OperatorLimitStore keeps the limits that operators set, one for each target: those in force, and for a while those
// that have ended. The permits of their steps are among those of GateStore, under task.PauseTarget.LimitNo.
type OperatorLimitStore interface {
	// SaveLimit stores a limit instead of an earlier one of its target.
	SaveLimit(ctx context.Context, tx Tx, l *task.OperatorLimit) error
	// LockLimits returns limits by their numbers, in force or ended, locked in the order of the numbers.
	LockLimits(ctx context.Context, tx Tx, nos []int64) ([]task.OperatorLimit, error)
	// DropLimits deletes up to limit limits that ended before a time, and returns how many.
	DropLimits(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
	// OperatorLimits returns all limits of a committed state, up to limit, in the order of their targets; those in
	// force first.
	OperatorLimits(ctx context.Context, limit int) ([]task.OperatorLimit, error)

	// FindLimits is LockLimits of a committed state.
	FindLimits(ctx context.Context, nos []int64) ([]task.OperatorLimit, error)

	// Permits.

	// AdoptPermits adds a permit for each step that is leased on one of the routes.
	AdoptPermits(ctx context.Context, tx Tx, no int64, routes []int64) error
	// DropPermits deletes permits.
	DropPermits(ctx context.Context, tx Tx, permits []Permit) error
	// DropPermitsOf deletes all permits of a limit.
	DropPermitsOf(ctx context.Context, tx Tx, no int64) error
	// HeldPermits counts the permits of limits of a committed state; those without any are left out.
	HeldPermits(ctx context.Context, nos []int64) (map[int64]int, error)
}
