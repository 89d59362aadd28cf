package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/task"
)

// PauseStore keeps pauses, one for each target: those in force, and for a while those that have ended.
type PauseStore interface {
	// SavePause stores a pause in place of an earlier one of its target.
	SavePause(ctx context.Context, tx Tx, p *task.Pause) error
	// FindPause returns the pause of a target, in force or ended, locked, or nil.
	FindPause(ctx context.Context, tx Tx, target task.PauseTarget) (*task.Pause, error)
	// DuePauses returns up to limit pauses in force whose end has come, locked, the first first.
	DuePauses(ctx context.Context, tx Tx, until task.Instant, limit int) ([]task.Pause, error)
	// CountPauses counts the pauses in force.
	CountPauses(ctx context.Context, tx Tx) (int, error)
	// DropPauses deletes up to limit pauses that ended before a time, and returns how many.
	DropPauses(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
	// Pauses returns all pauses of a committed state, up to limit, in the order of their targets; those in force first.
	Pauses(ctx context.Context, limit int) ([]task.Pause, error)
}
