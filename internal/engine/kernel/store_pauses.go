package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// PauseStore keeps pauses, one for each target: those in force, and ended ones for a while.
type PauseStore interface {
	// SavePause replaces an earlier pause of the target.
	SavePause(ctx context.Context, tx Tx, p *task.Pause) error
	// FindPause returns the pause of a target, in force or ended, locked, or nil.
	FindPause(ctx context.Context, tx Tx, target task.PauseTarget) (*task.Pause, error)
	// CountPauses counts the pauses in force, and those of a namespace among them.
	CountPauses(ctx context.Context, tx Tx, namespace string) (all, of int, err error)
	// DropPauses deletes up to limit pauses that ended before a time.
	DropPauses(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
	// Pauses returns up to limit pauses: those in force by target, then ended ones, latest first.
	Pauses(ctx context.Context, limit int) ([]task.Pause, error)
}
