package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ready calls each with the ready steps by route, key and ID, up to limit, with places from 0. Numbers up to 0 are the
// queues of timers and leases.
func (s *state) ready(limit int, each func(place int, step *task.Step)) {
	place := 0
	for _, route := range slices.Sorted(maps.Keys(s.queues)) {
		if route <= 0 {
			continue
		}
		for _, e := range s.queues[route].entries {
			if place == limit {
				return
			}
			each(place, s.steps[e.id])
			place++
		}
	}
}

// ReadyCounts implements engine.QueueCounts.
func (s *Store) ReadyCounts(ctx context.Context, limit int) (map[int64]int, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	out := map[int64]int{}
	st.ready(limit, func(_ int, s *task.Step) { out[s.RouteID]++ })
	return out, nil
}

// CountPaused implements engine.QueueCounts.
func (s *Store) CountPaused(ctx context.Context, limit int) (n int, err error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	for _, step := range st.steps {
		if _, paused := task.TemplateOf(step.Queue); paused && step.Parked() && n < limit {
			n++
		}
	}
	return n, nil
}

// ReadySample implements engine.QueueCounts. It begins in the middle of the first stride, like SQL.
func (s *Store) ReadySample(ctx context.Context, stride, limit int) ([]engine.ReadyStep, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []engine.ReadyStep
	st.ready(limit, func(place int, s *task.Step) {
		if place%stride == stride/2 {
			out = append(out, engine.ReadyStep{ID: s.ID, Route: s.RouteID, Priority: s.Priority, Key: s.Key, ReadyAt: s.ReadyAt})
		}
	})
	return out, nil
}

// LeasedCounts implements engine.QueueCounts.
func (s *Store) LeasedCounts(ctx context.Context, limit int) ([]engine.LeasedCount, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	// The key is a count without its number of steps.
	counts := map[engine.LeasedCount]int{}
	if q := st.queues[task.Leases]; q != nil {
		for _, e := range q.entries[:min(limit, len(q.entries))] {
			s := st.steps[e.id]
			counts[engine.LeasedCount{Route: s.RouteID, Priority: s.Priority, State: s.State}]++
		}
	}
	var out []engine.LeasedCount
	for c, n := range counts {
		c.Steps = n
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b engine.LeasedCount) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.State, b.State))
	})
	return out, nil
}
