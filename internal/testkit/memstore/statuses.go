package memstore

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
)

// BoundTasks implements engine.KeyStore.
func (s *Store) BoundTasks(ctx context.Context, names []engine.KeyName,
	now task.Instant,
) (map[engine.KeyName]task.ID, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	out := map[engine.KeyName]task.ID{}
	for _, n := range names {
		if b, bound := st.keys[n]; bound && now < b.expires {
			out[n] = b.Task
		}
	}
	return out, nil
}

// TaskStatuses implements engine.ReadTasks, in the order of the IDs, without unknown ones.
func (s *Store) TaskStatuses(ctx context.Context, ids []task.ID) ([]feed.TaskStatus, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []feed.TaskStatus
	for _, id := range ids {
		if t := cloneTask(st.tasks[id]); t != nil {
			out = append(out, feed.TaskStatus{ID: id, DefID: t.DefID, State: t.State, StateAt: t.StateAt, Priority: t.Priority,
				CorrelationID: t.CorrelationID, Tags: t.Meta.Tags})
		}
	}
	return out, nil
}
