package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func gatesTable(s *state) map[int64]engine.Gate        { return s.gates }
func permitsTable(s *state) map[engine.Permit]struct{} { return s.permits }
func signalsTable(s *state) map[int64]engine.Gate      { return s.signals }
func lastSignalTable(s *state) map[string]int64        { return s.lastSignal }
func comparePermits(a, b engine.Permit) int {
	return cmp.Or(cmp.Compare(a.Gate, b.Gate), compareIDs(a.Step, b.Step))
}
func sortedPermits(of map[engine.Permit]struct{}) []engine.Permit {
	return slices.SortedFunc(maps.Keys(of), comparePermits)
}

// GateStore implements engine.Database.
func (s *Store) GateStore() engine.GateStore { return s }

// Signal implements engine.GateRows.
func (*Store) Signal(_ context.Context, within engine.Tx, gates []engine.Gate) error {
	t := in(within)
	for _, g := range gates {
		g.Bucket, g.NextAt, g.Freed = 0, 0, 0
		no := t.s.lastSignal[""] + 1
		put(t, lastSignalTable, "", no)
		put(t, signalsTable, no, g)
	}
	return nil
}

// TakeSignals implements engine.GateRows.
func (*Store) TakeSignals(_ context.Context, within engine.Tx, now task.Instant, limit int,
) ([]engine.Gate, int, error) {
	t := in(within)
	nos, freed := map[int64]bool{}, map[int64]int{}
	ids := slices.Sorted(maps.Keys(t.s.signals))
	ids = ids[:min(len(ids), limit)]
	for _, id := range ids {
		g := t.s.signals[id]
		drop(t, signalsTable, id)
		nos[g.No] = true
		if g.Namespace == "" {
			freed[g.No] += g.Permits
			continue
		}
		have, ok := t.s.gates[g.No]
		switch {
		case !ok:
			put(t, gatesTable, g.No, g)
		case have.Rev < g.Rev:
			have.Permits, have.Rate, have.Rev = g.Permits, g.Rate, g.Rev
			put(t, gatesTable, g.No, have)
		}
	}
	due := 0
	for _, no := range slices.Sorted(maps.Keys(t.s.gates)) {
		if g := t.s.gates[no]; g.NextAt > 0 && g.NextAt <= now && due < limit {
			nos[no] = true
			due++
		}
	}
	var out []engine.Gate
	for _, no := range slices.Sorted(maps.Keys(nos)) {
		if g, ok := t.s.gates[no]; ok {
			g.Freed = freed[no]
			out = append(out, g)
		}
	}
	return out, len(ids), nil
}

// SaveGates implements engine.GateRows.
func (*Store) SaveGates(_ context.Context, within engine.Tx, gates []engine.Gate) error {
	t := in(within)
	for _, g := range gates {
		if have, ok := t.s.gates[g.No]; ok {
			g.Namespace, g.Name, g.Key, g.Freed = have.Namespace, have.Name, have.Key, 0
			put(t, gatesTable, g.No, g)
		}
	}
	return nil
}

// FirstParked implements engine.GateRows.
func (*Store) FirstParked(_ context.Context, within engine.Tx, rooms []engine.GateRoom) ([]engine.Permit, error) {
	t := in(within)
	var out []engine.Permit
	for _, r := range rooms {
		if q := t.s.queues[task.ParkedLimit(r.Gate)]; q != nil {
			for _, e := range q.first(r.Steps) {
				out = append(out, engine.Permit{Gate: r.Gate, Step: e.id})
			}
		}
	}
	return out, nil
}

// CountPermits implements engine.GateRows.
func (*Store) CountPermits(_ context.Context, within engine.Tx, gates []int64) (map[int64]int, error) {
	return in(within).s.countPermits(gates), nil
}

// CountPasses implements engine.GateRows.
func (*Store) CountPasses(_ context.Context, within engine.Tx, gates []int64) (map[int64]int, error) {
	s := in(within).s
	out := s.countPermits(gates)
	for _, g := range s.signals {
		if g.Namespace == "" && slices.Contains(gates, g.No) {
			out[g.No] += g.Permits
		}
	}
	return out, nil
}

func (s *state) countPermits(gates []int64) map[int64]int {
	out := map[int64]int{}
	for p := range s.permits {
		if slices.Contains(gates, p.Gate) {
			out[p.Gate]++
		}
	}
	return out
}

// AddPermits implements engine.GateRows.
func (*Store) AddPermits(_ context.Context, within engine.Tx, permits []engine.Permit) error {
	t := in(within)
	for _, p := range permits {
		put(t, permitsTable, p, struct{}{})
	}
	return nil
}

// FreePermits implements engine.GateRows.
func (s *Store) FreePermits(ctx context.Context, within engine.Tx, steps []task.ID) error {
	return s.free(ctx, within, steps, func(int64) bool { return true })
}

// FreePasses implements engine.GateRows.
func (s *Store) FreePasses(ctx context.Context, within engine.Tx, steps []task.ID) error {
	gates := in(within).s.gates
	return s.free(ctx, within, steps, func(no int64) bool { g, ok := gates[no]; return ok && g.Permits == 0 })
}

// Refund implements engine.GateRows.
func (s *Store) Refund(ctx context.Context, within engine.Tx, passes []engine.Pass) error {
	t := in(within)
	var signals []engine.Gate
	for _, p := range passes {
		drop(t, permitsTable, p.Permit)
		if g, ok := t.s.gates[p.Gate]; ok {
			g.Bucket -= p.Cost
			put(t, gatesTable, p.Gate, g)
		}
		signals = append(signals, engine.Gate{No: p.Gate})
	}
	return s.Signal(ctx, within, signals)
}

// free deletes permits of steps at some gates, and signals these.
func (s *Store) free(ctx context.Context, within engine.Tx, steps []task.ID, some func(gate int64) bool) error {
	t := in(within)
	var signals []engine.Gate
	for _, p := range sortedPermits(t.s.permits) {
		if !slices.Contains(steps, p.Step) || !some(p.Gate) {
			continue
		}
		drop(t, permitsTable, p)
		switch last := len(signals) - 1; {
		case p.Gate < 0:
		case last >= 0 && signals[last].No == p.Gate:
			signals[last].Permits++
		default:
			signals = append(signals, engine.Gate{No: p.Gate, Permits: 1})
		}
	}
	return s.Signal(ctx, within, signals)
}

// DropIdle implements engine.GateRows.
func (*Store) DropIdle(_ context.Context, within engine.Tx, now task.Instant, after int64, limit int) (int64, error) {
	t := in(within)
	nos := slices.Sorted(maps.Keys(t.s.gates))
	nos = slices.DeleteFunc(nos, func(no int64) bool { return no <= after })
	last := int64(0)
	if len(nos) >= limit {
		nos = nos[:limit]
		last = nos[limit-1]
	}
	held := t.s.countPermits(nos)
	var signalled []int64
	for _, g := range t.s.signals {
		signalled = append(signalled, g.No)
	}
	for _, no := range nos {
		g, q := t.s.gates[no], t.s.queues[task.ParkedLimit(no)]
		if g.NextAt == 0 && int64(g.Bucket) <= int64(now)*1000 && held[no] == 0 && (q == nil || len(q.entries) == 0) &&
			!slices.Contains(signalled, no) {
			drop(t, gatesTable, no)
		}
	}
	return last, nil
}

// Signalled implements engine.GateReads.
func (s *Store) Signalled(ctx context.Context, now task.Instant) (bool, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	for _, g := range st.gates {
		if g.NextAt > 0 && g.NextAt <= now {
			return true, nil
		}
	}
	return len(st.signals) > 0, nil
}

// NextGate implements engine.GateReads.
func (s *Store) NextGate(ctx context.Context) (next task.Instant, err error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	for _, g := range st.gates {
		if g.NextAt > 0 && (next == 0 || g.NextAt < next) {
			next = g.NextAt
		}
	}
	return next, nil
}

// CountParked implements engine.GateReads.
func (s *Store) CountParked(ctx context.Context, limit int) (n int, err error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	for no, q := range st.queues {
		if _, at := task.LimitOf(no); at {
			n += len(q.entries)
		}
	}
	return min(n, limit), nil
}

// FindGate implements engine.GateReads.
func (s *Store) FindGate(ctx context.Context, no int64) (*engine.Gate, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if g, ok := st.gates[no]; ok {
		return &g, nil
	}
	return nil, nil
}

// ListGates implements engine.GateReads.
func (s *Store) ListGates(ctx context.Context, f engine.GateFilter) ([]engine.GateView, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []engine.GateView
	for _, no := range slices.Sorted(maps.Keys(st.gates)) {
		g := st.gates[no]
		if no <= f.Behind || f.Namespace != "" && f.Namespace != g.Namespace || f.Name != "" && f.Name != g.Name ||
			len(out) == cmp.Or(f.Limit, 100) {
			continue
		}
		v := engine.GateView{Gate: g, Held: st.countPermits([]int64{no})[no]}
		if q := st.queues[task.ParkedLimit(no)]; q != nil {
			v.Waiting = min(len(q.entries), cmp.Or(f.Counted, 1000))
		}
		out = append(out, v)
	}
	return out, nil
}

// Holders implements engine.GateReads.
func (s *Store) Holders(ctx context.Context, gate int64, limit int) ([]task.ID, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []task.ID
	for _, p := range sortedPermits(st.permits) {
		if s := st.steps[p.Step]; p.Gate == gate && s != nil {
			out = append(out, s.TaskID)
		}
	}
	slices.SortFunc(out, compareIDs)
	out = slices.Compact(out)
	return out[:min(limit, len(out))], nil
}

// PermitsOf implements engine.GateReads.
func (s *Store) PermitsOf(ctx context.Context, step task.ID) ([]int64, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []int64
	for _, p := range sortedPermits(st.permits) {
		if p.Step == step {
			out = append(out, p.Gate)
		}
	}
	return out, nil
}

// StalledGates implements engine.GateReads.
func (s *Store) StalledGates(ctx context.Context, after int64, limit int) (stalled []int64, last int64, err error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	n := 0
	for _, no := range slices.Sorted(maps.Keys(st.gates)) {
		if no <= after {
			continue
		}
		g, q := st.gates[no], st.queues[task.ParkedLimit(no)]
		most := g.Permits
		if most == 0 {
			most = g.Rate.Burst
		}
		if g.NextAt == 0 && most > st.countPermits([]int64{no})[no] && q != nil && len(q.entries) > 0 {
			stalled = append(stalled, no)
		}
		if n++; n == limit {
			return stalled, no, nil
		}
	}
	return stalled, 0, nil
}

// StrayPermits implements engine.GateReads.
func (s *Store) StrayPermits(ctx context.Context, after engine.Permit, limit int,
) (stray []engine.Permit, last engine.Permit, err error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, last, err
	}
	defer done()
	n := 0
	for _, p := range sortedPermits(st.permits) {
		if comparePermits(p, after) <= 0 {
			continue
		}
		if n == limit {
			return stray, last, nil
		}
		n, last = n+1, p
		step := st.steps[p.Step]
		if step == nil || !step.State.Leased() && (p.Gate < 0 || step.State != task.StepEnqueued) {
			stray = append(stray, p)
		}
	}
	return stray, engine.Permit{}, nil
}
