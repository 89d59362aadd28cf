package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// CheckpointStore keeps the last checkpoint of each step that has one.
type CheckpointStore interface {
	// SaveCheckpoint stores the checkpoint of a step instead of an older one.
	SaveCheckpoint(ctx context.Context, tx Tx, c *task.Checkpoint) error
	// DropCheckpoint deletes the checkpoint of a step, if it has one.
	DropCheckpoint(ctx context.Context, tx Tx, step task.ID) error
	// CheckpointsOf returns the checkpoints of steps, in no promised order. Steps without one are left out.
	CheckpointsOf(ctx context.Context, tx Tx, steps []task.ID) ([]task.Checkpoint, error)
	// FindCheckpoints is CheckpointsOf of a committed state. Without bodies, these are left out.
	FindCheckpoints(ctx context.Context, steps []task.ID, bodies bool) ([]task.Checkpoint, error)
}
