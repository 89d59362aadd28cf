package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func stepWaitsTable(s *state) map[task.ID]task.StepWait            { return s.stepWaits }
func outsideSignalsTable(s *state) map[task.SignalName]task.Signal { return s.outsideSignals }

// WaitStore implements engine.Database.
func (s *Store) WaitStore() engine.WaitStore { return s }

// ChangeWaits implements engine.WaitStore.
func (*Store) ChangeWaits(_ context.Context, within engine.Tx, waits []task.StepWait, gone []task.ID) error {
	for _, w := range waits {
		put(in(within), stepWaitsTable, w.Step, w)
	}
	for _, id := range gone {
		drop(in(within), stepWaitsTable, id)
	}
	return nil
}

// WaitsOf implements engine.WaitStore.
func (*Store) WaitsOf(_ context.Context, within engine.Tx, steps []task.ID) ([]task.StepWait, error) {
	return in(within).s.waitsOf(steps), nil
}

// FindWaits implements engine.WaitReads.
func (s *Store) FindWaits(ctx context.Context, steps []task.ID) ([]task.StepWait, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return st.waitsOf(steps), nil
}

func (s *state) waitsOf(steps []task.ID) (list []task.StepWait) {
	for _, id := range steps {
		if w, ok := s.stepWaits[id]; ok {
			list = append(list, w)
		}
	}
	return list
}

// waitsWhere returns matching waits, the earliest first.
func (s *state) waitsWhere(match func(task.StepWait) bool) (list []task.StepWait) {
	for _, w := range s.stepWaits {
		if match(w) {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b task.StepWait) int {
		return cmp.Or(cmp.Compare(a.At, b.At), compareIDs(a.Step, b.Step))
	})
	return list
}

// signalsWhere returns matching signals, the earliest first.
func (s *state) signalsWhere(match func(task.Signal) bool) (list []task.Signal) {
	for _, sig := range s.outsideSignals {
		if match(sig) {
			list = append(list, sig)
		}
	}
	slices.SortFunc(list, func(a, b task.Signal) int {
		return cmp.Or(cmp.Compare(a.ReceivedAt, b.ReceivedAt), cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Namespace, b.Namespace))
	})
	return list
}

// FreshWaits implements engine.WaitStore.
func (*Store) FreshWaits(_ context.Context, within engine.Tx, limit int) (list []engine.SignalMatch, err error) {
	s := in(within).s
	fresh := s.waitsWhere(func(w task.StepWait) bool { return w.Fresh })
	for _, w := range fresh[:min(limit, len(fresh))] {
		list = append(list, s.matchOf(w))
	}
	return list, nil
}

// matchOf is a wait with the first signal for it.
func (s *state) matchOf(w task.StepWait) engine.SignalMatch {
	m := engine.SignalMatch{Step: w.Step, At: w.At, Signal: task.SignalName{Namespace: w.Namespace}}
	found := s.signalsWhere(func(sig task.Signal) bool { return w.Takes(&sig) && sig.ExpiresAt > w.At })
	if len(found) > 0 {
		m.Signal = found[0].SignalName
	}
	return m
}

// Awaited implements engine.WaitStore.
func (*Store) Awaited(_ context.Context, within engine.Tx, signals []task.Signal, limit int,
) (list []engine.SignalMatch, err error) {
	for i := range signals {
		sig := &signals[i] // also for a wait that is over and not decided yet: an earlier signal may be due to it
		waits := in(within).s.waitsWhere(func(w task.StepWait) bool {
			return w.Kind == task.WaitSignal && w.Namespace == sig.Namespace && w.Name == sig.Name && w.Key == sig.Key
		})
		slices.SortFunc(waits, func(a, b task.StepWait) int { return compareIDs(a.Step, b.Step) })
		for _, w := range waits {
			if m := in(within).s.matchOf(w); m.Signal.ID != "" && len(list) < limit {
				list = append(list, m)
			}
		}
	}
	return list, nil
}

// SignalFor implements engine.WaitStore.
func (*Store) SignalFor(_ context.Context, within engine.Tx, step task.ID) (m engine.SignalMatch, err error) {
	if w, ok := in(within).s.stepWaits[step]; ok && w.Kind == task.WaitSignal {
		m = in(within).s.matchOf(w)
	}
	return m, nil
}

// MarkWaitsKnown implements engine.WaitStore.
func (*Store) MarkWaitsKnown(_ context.Context, within engine.Tx, waits []engine.SignalMatch) error {
	for _, m := range waits {
		if w, ok := in(within).s.stepWaits[m.Step]; ok && w.At == m.At {
			w.Fresh = false
			put(in(within), stepWaitsTable, w.Step, w)
		}
	}
	return nil
}

// ListWaits implements engine.WaitReads.
func (s *Store) ListWaits(ctx context.Context, f engine.WaitFilter) ([]task.StepWait, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	list := st.waitsWhere(func(w task.StepWait) bool {
		return w.Kind == f.Kind && (len(f.Namespaces) == 0 || slices.Contains(f.Namespaces, w.Namespace)) &&
			(f.Template == "" || w.Template == f.Template) && (f.StepName == "" || w.StepName == f.StepName) &&
			(f.Task.IsZero() || w.Task == f.Task) && w.At >= f.Since && (f.Until == 0 || w.At < f.Until) &&
			(f.After.At == 0 || cmp.Or(cmp.Compare(w.At, f.After.At), compareIDs(w.Step, f.After.Step)) > 0)
	})
	return list[:min(f.Limit, len(list))], nil
}

// CountWaits implements engine.WaitReads.
func (s *Store) CountWaits(ctx context.Context, limit int) (map[task.WaitKind]int, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	counts := map[task.WaitKind]int{}
	for _, kind := range task.WaitKinds {
		counts[kind] = min(len(st.waitsWhere(func(w task.StepWait) bool { return w.Kind == kind })), limit)
	}
	return counts, nil
}

// AnyFresh implements engine.WaitReads.
func (s *Store) AnyFresh(ctx context.Context) (bool, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	return len(st.waitsWhere(func(w task.StepWait) bool { return w.Fresh })) > 0 ||
		len(st.signalsWhere(func(sig task.Signal) bool { return sig.Fresh })) > 0, nil
}

// SignalStore implements engine.Database.
func (s *Store) SignalStore() engine.SignalStore { return s }

// AddSignal implements engine.SignalStore.
func (*Store) AddSignal(_ context.Context, within engine.Tx, sig *task.Signal) (*task.Signal, error) {
	if have, ok := in(within).s.outsideSignals[sig.SignalName]; ok && have.ExpiresAt > sig.ReceivedAt {
		have.Payload = nil
		return &have, nil
	}
	row := *sig
	row.Payload, row.Bytes = slices.Clone(sig.Payload), len(sig.Payload)
	put(in(within), outsideSignalsTable, sig.SignalName, row)
	return nil, nil
}

// FreshSignals implements engine.SignalStore.
func (*Store) FreshSignals(_ context.Context, within engine.Tx, limit int) ([]task.Signal, error) {
	list := in(within).s.signalsWhere(func(sig task.Signal) bool { return sig.Fresh })
	list = list[:min(limit, len(list))]
	for i := range list {
		list[i].Payload = nil
	}
	return list, nil
}

// SignalsNamed implements engine.SignalStore.
func (*Store) SignalsNamed(_ context.Context, within engine.Tx, names []task.SignalName,
) (list []task.Signal, err error) {
	for _, name := range names {
		if sig, ok := in(within).s.outsideSignals[name]; ok {
			sig.Payload = slices.Clone(sig.Payload)
			list = append(list, sig)
		}
	}
	return list, nil
}

// MarkSignals implements engine.SignalStore.
func (*Store) MarkSignals(_ context.Context, within engine.Tx, marks []engine.SignalMark) error {
	for _, m := range marks {
		if sig, ok := in(within).s.outsideSignals[m.SignalName]; ok {
			sig.Taken += m.Taken
			sig.Fresh = sig.Fresh && !m.Known
			put(in(within), outsideSignalsTable, m.SignalName, sig)
		}
	}
	return nil
}

// DropSignals implements engine.SignalStore.
func (*Store) DropSignals(_ context.Context, within engine.Tx, before task.Instant, limit int) (int, error) {
	s := in(within).s
	old := s.signalsWhere(func(sig task.Signal) bool {
		return sig.ExpiresAt < before && !sig.Fresh && len(s.waitsWhere(func(w task.StepWait) bool {
			return w.Fresh && w.Takes(&sig) && sig.ExpiresAt > w.At
		})) == 0
	})
	slices.SortStableFunc(old, func(a, b task.Signal) int { return cmp.Compare(a.ExpiresAt, b.ExpiresAt) })
	old = old[:min(limit, len(old))]
	for _, sig := range old {
		drop(in(within), outsideSignalsTable, sig.SignalName)
	}
	return len(old), nil
}

// FindSignal implements engine.SignalStore.
func (s *Store) FindSignal(ctx context.Context, name task.SignalName) (*task.Signal, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	sig, ok := st.outsideSignals[name]
	if !ok {
		return nil, nil
	}
	sig.Payload = nil
	return &sig, nil
}

// CountSignals implements engine.SignalStore.
func (s *Store) CountSignals(ctx context.Context, namespace string, at task.Instant, limit int) (int, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	kept := st.signalsWhere(func(sig task.Signal) bool { return sig.Namespace == namespace && sig.ExpiresAt > at })
	return min(len(kept), limit), nil
}

// ListSignals implements engine.SignalStore.
func (s *Store) ListSignals(ctx context.Context, f engine.SignalFilter) ([]task.Signal, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	order := func(expires task.Instant, name task.SignalName, than engine.SignalPosition) int {
		return cmp.Or(cmp.Compare(expires, than.ExpiresAt), cmp.Compare(name.Namespace, than.Namespace),
			cmp.Compare(name.ID, than.ID))
	}
	list := st.signalsWhere(func(sig task.Signal) bool {
		return sig.ExpiresAt > f.Kept && (len(f.Namespaces) == 0 || slices.Contains(f.Namespaces, sig.Namespace)) &&
			(f.Name == "" || sig.Name == f.Name) && (f.Key == "" || sig.Key == f.Key) && sig.ReceivedAt >= f.Since &&
			(f.Until == 0 || sig.ReceivedAt < f.Until) && (!f.Untaken || sig.Taken == 0) &&
			(f.After.ExpiresAt == 0 || order(sig.ExpiresAt, sig.SignalName, f.After) > 0)
	})
	slices.SortFunc(list, func(a, b task.Signal) int {
		return order(a.ExpiresAt, a.SignalName, engine.SignalPosition{ExpiresAt: b.ExpiresAt, SignalName: b.SignalName})
	})
	list = list[:min(f.Limit, len(list))]
	for i := range list {
		list[i].Payload = nil
	}
	return list, nil
}
