package memstore

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// InQueues implements engine.Reader. The steps of a task are in the order of their ordinals.
func (s *Store) InQueues(ctx context.Context, of []engine.Sized) ([]*task.Step, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []*task.Step
	for _, t := range of {
		for _, id := range st.stepsOf[t.Task] {
			if step := st.steps[id]; step.Queue != task.NoQueue {
				out = append(out, cloneStep(step))
			}
		}
	}
	return out, nil
}

// BareSteps implements engine.Reader. It omits results, because SQL does.
func (s *Store) BareSteps(ctx context.Context, of []engine.Sized) ([]*task.Step, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []*task.Step
	for _, t := range of {
		for _, id := range st.stepsOf[t.Task] {
			bare := *st.steps[id]
			bare.Result = nil
			out = append(out, &bare)
		}
	}
	return out, nil
}

// Results implements engine.Reader. It stops before the first result beyond the bytes, even if a later one would fit.
func (s *Store) Results(ctx context.Context, steps []task.ID, bytes int) (map[task.ID][]byte, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	out, size := map[task.ID][]byte{}, 0
	for _, id := range steps {
		row := st.steps[id]
		if row == nil {
			continue
		}
		if size += len(row.Result); size > bytes {
			break
		}
		out[id] = slices.Clone(row.Result)
	}
	return out, nil
}

// CountHeld implements engine.QueueCounts.
func (s *Store) CountHeld(ctx context.Context) (map[int64]int, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	counts := map[int64]int{}
	if q := st.queues[task.Leases]; q != nil {
		for _, e := range q.entries {
			counts[st.steps[e.id].WorkerNo]++
		}
	}
	return counts, nil
}
