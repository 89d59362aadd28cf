package memstore

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func checkpointsTable(s *state) map[task.ID]task.Checkpoint { return s.checkpoints }

// CheckpointStore implements engine.Database.
func (s *Store) CheckpointStore() engine.CheckpointStore { return s }

// SaveCheckpoint implements engine.CheckpointStore.
func (*Store) SaveCheckpoint(_ context.Context, within engine.Tx, c *task.Checkpoint) error {
	row := *c
	row.Body, row.DefID = slices.Clone(c.Body), 0
	put(in(within), checkpointsTable, c.Step, row)
	return nil
}

// DropCheckpoint implements engine.CheckpointStore.
func (*Store) DropCheckpoint(_ context.Context, within engine.Tx, step task.ID) error {
	drop(in(within), checkpointsTable, step)
	return nil
}

// CheckpointsOf implements engine.CheckpointStore.
func (*Store) CheckpointsOf(_ context.Context, within engine.Tx, steps []task.ID) ([]task.Checkpoint, error) {
	return checkpointsIn(in(within).s, steps, true), nil
}

// FindCheckpoints implements engine.CheckpointStore.
func (s *Store) FindCheckpoints(ctx context.Context, steps []task.ID, bodies bool) ([]task.Checkpoint, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return checkpointsIn(st, steps, bodies), nil
}

func checkpointsIn(s *state, steps []task.ID, bodies bool) []task.Checkpoint {
	var list []task.Checkpoint
	for _, id := range steps {
		c, ok := s.checkpoints[id]
		if !ok {
			continue
		}
		if c.Body = slices.Clone(c.Body); !bodies {
			c.Body = nil
		}
		list = append(list, c)
	}
	return list
}
