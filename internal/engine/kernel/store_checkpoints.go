package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// CheckpointStore keeps the last checkpoint of each step.
type CheckpointStore interface {
	// SaveCheckpoint replaces an older checkpoint of the step.
	SaveCheckpoint(ctx context.Context, tx Tx, c *task.Checkpoint) error
	DropCheckpoint(ctx context.Context, tx Tx, step task.ID) error
	// CheckpointsOf returns existing checkpoints, in any order.
	CheckpointsOf(ctx context.Context, tx Tx, steps []task.ID) ([]task.Checkpoint, error)
	// FindCheckpoints is CheckpointsOf of a committed state, with or without bodies.
	FindCheckpoints(ctx context.Context, steps []task.ID, bodies bool) ([]task.Checkpoint, error)
}
