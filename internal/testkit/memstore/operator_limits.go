package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func operatorLimitsTable(s *state) map[int64]task.OperatorLimit { return s.operatorLimits }

// OperatorLimitStore implements engine.Database.
func (s *Store) OperatorLimitStore() engine.OperatorLimitStore { return s }

// SaveLimit implements engine.OperatorLimitStore.
func (*Store) SaveLimit(_ context.Context, within engine.Tx, l *task.OperatorLimit) error {
	put(in(within), operatorLimitsTable, l.LimitNo(), *l)
	return nil
}

// LockLimits implements engine.OperatorLimitStore.
func (*Store) LockLimits(_ context.Context, within engine.Tx, nos []int64) ([]task.OperatorLimit, error) {
	return in(within).s.limitsByNo(nos), nil
}

// FindLimits implements engine.OperatorLimitStore.
func (s *Store) FindLimits(ctx context.Context, nos []int64) ([]task.OperatorLimit, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return st.limitsByNo(nos), nil
}

func (s *state) limitsByNo(nos []int64) (all []task.OperatorLimit) {
	for _, no := range slices.Sorted(maps.Keys(s.operatorLimits)) {
		if slices.Contains(nos, no) {
			all = append(all, s.operatorLimits[no])
		}
	}
	return all
}

// DropLimits implements engine.OperatorLimitStore.
func (*Store) DropLimits(_ context.Context, within engine.Tx, before task.Instant, limit int) (n int, err error) {
	ended := slices.DeleteFunc(in(within).s.sortedOperatorLimits(), func(l task.OperatorLimit) bool {
		return l.EndedAt == 0 || l.EndedAt >= before
	})
	slices.SortStableFunc(ended, func(a, b task.OperatorLimit) int { return cmp.Compare(a.EndedAt, b.EndedAt) })
	for _, l := range ended[:min(limit, len(ended))] {
		drop(in(within), operatorLimitsTable, l.LimitNo())
		n++
	}
	return n, nil
}

// OperatorLimits implements engine.OperatorLimitStore.
func (s *Store) OperatorLimits(ctx context.Context, limit int) ([]task.OperatorLimit, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	list := st.sortedOperatorLimits()
	return list[:min(limit, len(list))], nil
}

// sortedOperatorLimits returns the limits by target, those in force first.
func (s *state) sortedOperatorLimits() []task.OperatorLimit {
	return slices.SortedFunc(maps.Values(s.operatorLimits), func(a, b task.OperatorLimit) int {
		return cmp.Or(cmp.Compare(min(a.EndedAt, 1), min(b.EndedAt, 1)), a.Compare(b.PauseTarget))
	})
}

// AdoptPermits implements engine.OperatorLimitStore.
func (*Store) AdoptPermits(_ context.Context, within engine.Tx, no int64, routes []int64) error {
	t := in(within)
	for id, s := range t.s.steps {
		if s.State.Leased() && slices.Contains(routes, s.RouteID) {
			put(t, permitsTable, engine.Permit{Gate: no, Step: id}, struct{}{})
		}
	}
	return nil
}

// DropPermits implements engine.OperatorLimitStore.
func (*Store) DropPermits(_ context.Context, within engine.Tx, permits []engine.Permit) error {
	for _, p := range permits {
		drop(in(within), permitsTable, p)
	}
	return nil
}

// DropPermitsOf implements engine.OperatorLimitStore.
func (*Store) DropPermitsOf(_ context.Context, within engine.Tx, no int64) error {
	for _, p := range sortedPermits(in(within).s.permits) {
		if p.Gate == no {
			drop(in(within), permitsTable, p)
		}
	}
	return nil
}

// HeldPermits implements engine.OperatorLimitStore.
func (s *Store) HeldPermits(ctx context.Context, nos []int64) (map[int64]int, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return st.countPermits(nos), nil
}
