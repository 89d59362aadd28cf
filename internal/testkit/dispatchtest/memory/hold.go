package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (st *step) grant(c engine.Claim, now task.Instant) {
	h := &engine.Hold{Offered: st.Offered, Worker: c.Worker, AssignedAt: now, Until: c.Until, LookAt: c.Until}
	h.Token = max(st.Token+1, c.Token)
	st.hold = h
	if c.Start {
		st.begin(now, c.Until)
	}
}

func (st *step) begin(now, until task.Instant) {
	h := st.hold
	if h.StartedAt == 0 {
		h.StartedAt = now
	}
	h.Until, h.LookAt = until, until
	if h.Timeout > 0 {
		h.LookAt = min(until, h.StartedAt.Add(h.Timeout))
	}
}

// held returns the step of a lease in force, else nil.
func (s *Server) held(ref engine.LeaseRef) *step {
	if st := s.steps[ref.Step]; st != nil && st.hold != nil && st.hold.Token == ref.Token &&
		(ref.Worker == 0 || ref.Worker == st.hold.Worker) {
		return st
	}
	return nil
}

// Start begins attempts.
func (d *Dispatcher) Start(ctx context.Context, refs []engine.LeaseRef, now,
	until task.Instant,
) ([]engine.Hold, error) {
	if err := d.begin(ctx, false); err != nil {
		return nil, err
	}
	defer d.s.mu.Unlock()
	out := make([]engine.Hold, len(refs))
	for i, ref := range refs {
		if st := d.s.held(ref); st != nil {
			st.begin(now, until)
			out[i] = *st.hold
		}
	}
	return out, nil
}

// Renew extends leases.
func (d *Dispatcher) Renew(ctx context.Context, renewals []engine.Renewal, until task.Instant) ([]engine.Hold, error) {
	if err := d.begin(ctx, false); err != nil {
		return nil, err
	}
	defer d.s.mu.Unlock()
	out := make([]engine.Hold, len(renewals))
	for i, r := range renewals {
		st := d.s.held(r.LeaseRef)
		if st == nil {
			continue
		}
		if r.Progress != nil {
			st.hold.Progress, st.hold.Note = r.Progress.Percent, r.Progress.Note
		}
		if st.hold.StartedAt != 0 {
			st.begin(0, until)
		}
		out[i] = *st.hold
	}
	return out, nil
}

// Find returns the current lease of each step, in order; a zero Hold without one.
func (d *Dispatcher) Find(ctx context.Context, steps []task.ID) ([]engine.Hold, error) {
	if err := d.begin(ctx, false); err != nil {
		return nil, err
	}
	defer d.s.mu.Unlock()
	out := make([]engine.Hold, len(steps))
	for i, id := range steps {
		if st := d.s.steps[id]; st != nil && st.hold != nil {
			out[i] = *st.hold
		}
	}
	return out, nil
}

// HeldBy returns a worker's leases.
func (d *Dispatcher) HeldBy(ctx context.Context, worker int64, limit int) ([]engine.Hold, error) {
	return d.holds(ctx, limit, func(h *engine.Hold) bool { return h.Worker == worker })
}

// Held counts leases by worker.
func (d *Dispatcher) Held(ctx context.Context) (map[int64]int, error) {
	if err := d.begin(ctx, false); err != nil {
		return nil, err
	}
	defer d.s.mu.Unlock()
	counts := map[int64]int{}
	for _, st := range d.s.steps {
		if st.hold != nil {
			counts[st.hold.Worker]++
		}
	}
	return counts, nil
}

// Expired returns leases that need attention.
func (d *Dispatcher) Expired(ctx context.Context, now task.Instant, limit int) ([]engine.Hold, error) {
	return d.holds(ctx, limit, func(h *engine.Hold) bool { return h.LookAt <= now })
}

func (d *Dispatcher) holds(ctx context.Context, limit int, want func(*engine.Hold) bool) ([]engine.Hold, error) {
	if err := d.begin(ctx, false); err != nil {
		return nil, err
	}
	defer d.s.mu.Unlock()
	var out []engine.Hold
	for _, st := range d.s.steps {
		if st.hold != nil && want(st.hold) {
			out = append(out, *st.hold)
		}
	}
	slices.SortFunc(out, func(a, b engine.Hold) int {
		return cmp.Or(cmp.Compare(a.LookAt, b.LookAt), bytes.Compare(a.Step[:], b.Step[:]))
	})
	return out[:min(len(out), max(limit, 0))], nil
}

// Remove takes steps out.
func (d *Dispatcher) Remove(ctx context.Context, steps []engine.Removal) error {
	if err := d.begin(ctx, true); err != nil {
		return err
	}
	defer d.s.mu.Unlock()
	for _, o := range steps {
		if st := d.s.steps[o.Step]; st != nil && (st.hold == nil || st.hold.Token <= o.Token || o.Left && st.Key == o.Key) {
			d.s.drop(st)
		}
	}
	return nil
}
