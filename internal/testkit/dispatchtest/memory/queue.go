package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// compare is the order of claims.
func compare(a, b *step) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), bytes.Compare(a.Step[:], b.Step[:]))
}

func (s *Server) wait(o engine.Offered) {
	st := &step{Offered: o}
	s.steps[o.Step] = st
	q := s.queues[o.Route]
	at, _ := slices.BinarySearchFunc(q, st, compare)
	s.queues[o.Route] = slices.Insert(q, at, st)
}

func (s *Server) leave(st *step) {
	q := s.queues[st.Route]
	if at, ok := slices.BinarySearchFunc(q, st, compare); ok {
		s.queues[st.Route] = slices.Delete(q, at, at+1)
	}
}

func (s *Server) drop(st *step) {
	if st.hold == nil {
		s.leave(st)
	}
	delete(s.steps, st.Step)
}

// outdated reports whether the stored step is older than the offered one.
func (st *step) outdated(o engine.Offered) bool {
	if st.hold != nil {
		return st.hold.Token <= o.Token
	}
	return st.Token < o.Token
}

// Offer lets steps be claimed.
func (d *Dispatcher) Offer(ctx context.Context, steps []engine.Offered) error {
	if err := d.begin(ctx, true); err != nil {
		return err
	}
	added := map[int64]int{}
	for _, o := range steps {
		st := d.s.steps[o.Step]
		if st != nil && !st.outdated(o) {
			continue
		}
		if st != nil {
			d.s.drop(st)
		}
		d.s.wait(o)
		added[o.Route]++
	}
	var others []func(map[int64]int)
	if len(added) > 0 && d.s.full {
		others = d.s.listeners(d)
	}
	d.s.mu.Unlock()
	for _, hear := range others { // without the lock: they may call the server
		hear(maps.Clone(added))
	}
	return nil
}

// listeners are those of all other dispatchers.
func (s *Server) listeners(but *Dispatcher) []func(map[int64]int) {
	var others []func(map[int64]int)
	for d, hear := range s.hear {
		if d != but {
			others = append(others, hear)
		}
	}
	return others
}

// Claim hands out the lowest keys.
func (d *Dispatcher) Claim(ctx context.Context, claims []engine.Claim, now task.Instant) ([][]engine.Hold, error) {
	if err := d.begin(ctx, false); err != nil {
		return nil, err
	}
	defer d.s.mu.Unlock()
	out := make([][]engine.Hold, len(claims))
	taken := map[int64]int{}
	for i, c := range claims {
		low, high := 0, 0
		full := func(r int64) bool { most, bounded := c.Most[r]; return bounded && taken[r] >= most }
		for len(out[i]) < c.Capacity {
			st := d.s.first(c.Routes, full)
			if st == nil {
				break
			}
			if len(out[i]) == 0 {
				low, high = st.Priority, st.Priority
			}
			low, high = min(low, st.Priority), max(high, st.Priority)
			if c.Window > 0 && high-low > c.Window {
				break
			}
			d.s.leave(st)
			st.grant(c, now)
			taken[st.Route]++
			out[i] = append(out[i], *st.hold)
		}
	}
	return out, nil
}

// first is the waiting step with the lowest key of the routes that are not full, else nil.
func (s *Server) first(routes []int64, full func(int64) bool) *step {
	var best *step
	for _, r := range routes {
		if q := s.queues[r]; len(q) > 0 && !full(r) && (best == nil || compare(q[0], best) < 0) {
			best = q[0]
		}
	}
	return best
}

// Missing returns the steps that are not in their place, or are held under a stale lease.
func (d *Dispatcher) Missing(ctx context.Context, steps []engine.Offered) ([]engine.Offered, error) {
	if err := d.begin(ctx, false); err != nil {
		return nil, err
	}
	defer d.s.mu.Unlock()
	var missing []engine.Offered
	for _, o := range steps {
		if st := d.s.steps[o.Step]; st == nil || st.hold == nil && st.Key != o.Key ||
			st.hold != nil && st.hold.Token <= o.Token {
			missing = append(missing, o)
		}
	}
	return missing, nil
}

// Depth counts the waiting steps of a route before a place.
func (d *Dispatcher) Depth(ctx context.Context, route, key int64, id task.ID) (int, error) {
	if err := d.begin(ctx, false); err != nil {
		return 0, err
	}
	defer d.s.mu.Unlock()
	n, _ := slices.BinarySearchFunc(d.s.queues[route], &step{Offered: engine.Offered{Key: key, Step: id}}, compare)
	return n, nil
}

// Waiting counts the waiting steps of routes, omitting empty routes.
func (d *Dispatcher) Waiting(ctx context.Context, routes []int64) (map[int64]int, error) {
	if err := d.begin(ctx, false); err != nil {
		return nil, err
	}
	defer d.s.mu.Unlock()
	counts := map[int64]int{}
	for _, r := range routes {
		if n := len(d.s.queues[r]); n > 0 {
			counts[r] = n
		}
	}
	return counts, nil
}
