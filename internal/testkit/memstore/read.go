package memstore

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// FindTask implements engine.ReadTasks.
// Unlike the lists it returns the context.
func (s *Store) FindTask(ctx context.Context, id task.ID) (*task.Task, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return cloneTask(st.tasks[id]), nil
}

// examined bounds the rows per page, as in every store, so that tests meet short pages.
const examined = 10_000

// ListTasks implements engine.ReadTasks. The ID to continue below is zero at the end. A short page may have a
// successor.
func (s *Store) ListTasks(ctx context.Context, f engine.TaskFilter) ([]*task.Task, task.ID, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, task.ID{}, err
	}
	defer done()
	// The order is ascending and a page is newest first, so the search runs from the end.
	end := len(st.taskOrder)
	if !f.Below.IsZero() {
		end, _ = slices.BinarySearchFunc(st.taskOrder, f.Below, compareIDs)
	}
	var page []*task.Task
	size := 0
	for i := end - 1; i >= 0; i-- {
		if len(page) == f.Limit || end-i > examined {
			return page, st.taskOrder[i+1], nil
		}
		if row := st.tasks[st.taskOrder[i]]; st.matches(row, f) {
			listed := cloneTask(row)
			if !f.Contexts {
				listed.Context = nil
			} else if size += len(listed.Context); f.Bytes > 0 && size > f.Bytes && len(page) > 0 {
				return page, page[len(page)-1].ID, nil
			}
			page = append(page, listed)
		}
	}
	return page, task.ID{}, nil
}

func (s *state) matches(t *task.Task, f engine.TaskFilter) bool {
	// A deleted template has no name and matches no filter on names.
	def := s.template(t.DefID)
	return (len(f.States) == 0 || slices.Contains(f.States, t.State)) &&
		(f.Namespace == "" || def.Namespace == f.Namespace) &&
		(f.Name == "" || def.Name == f.Name) &&
		(f.Version == "" || def.Version == f.Version) &&
		(f.Tag == "" || slices.Contains(t.Meta.Tags, f.Tag)) &&
		(f.CorrelationID == "" || t.CorrelationID == f.CorrelationID) &&
		(f.Initiator == "" || t.Meta.Initiator == f.Initiator) &&
		(f.Priority == nil || t.Priority == *f.Priority) &&
		(f.CreatedAfter == 0 || t.CreatedAt >= f.CreatedAfter) &&
		(f.CreatedBefore == 0 || t.CreatedAt < f.CreatedBefore)
}

// FindSteps implements engine.Reader: in the order of the ordinals, with results.
func (s *Store) FindSteps(ctx context.Context, id task.ID) ([]*task.Step, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []*task.Step
	for _, step := range st.stepsOf[id] {
		out = append(out, cloneStep(st.steps[step]))
	}
	return out, nil
}

// FindAttempts implements engine.Reader, in the order of writing.
func (s *Store) FindAttempts(ctx context.Context, id task.ID) ([]task.Attempt, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return clones(st.attempts[id], cloneAttempt), nil
}

// FindEvents implements engine.Reader.
func (s *Store) FindEvents(ctx context.Context, id task.ID) ([]task.Event, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return slices.Clone(st.events[id]), nil
}

// FindActs implements engine.ActStore.
// Acts of a deleted task are still found.
func (s *Store) FindActs(ctx context.Context, id task.ID) ([]task.Act, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return clones(st.acts[id], cloneAct), nil
}

// Depth implements engine.QueuePlaces. Entries of the same key are ordered by ID; below counts only lower keys.
func (s *Store) Depth(ctx context.Context, queue, key int64, id task.ID, limit int) (int, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if q := st.queues[queue]; q != nil {
		n := q.below(key)
		for n < len(q.entries) && n < limit && q.entries[n].key == key && compareIDs(q.entries[n].id, id) < 0 {
			n++
		}
		return min(n, limit), nil
	}
	return 0, nil
}

// Ahead implements engine.QueuePlaces. It reads each route separately, so a commit in between may show in one only.
func (s *Store) Ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error) {
	total := 0
	for _, r := range routes {
		n, err := s.Depth(ctx, r, key, id, limit)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return min(total, limit), nil
}

// First implements engine.QueuePlaces. With from = math.MinInt64 it is the first of all.
func (s *Store) First(ctx context.Context, queue, from int64) (*task.Step, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if q := st.queues[queue]; q != nil {
		if at := q.below(from); at < len(q.entries) {
			return cloneStep(st.steps[q.entries[at].id]), nil
		}
	}
	return nil, nil
}
