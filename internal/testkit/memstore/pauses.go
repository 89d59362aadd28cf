package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func pausesTable(s *state) map[task.PauseTarget]task.Pause { return s.pauses }

// PauseStore implements engine.Database.
func (s *Store) PauseStore() engine.PauseStore { return s }

// SavePause implements engine.PauseStore.
func (*Store) SavePause(_ context.Context, within engine.Tx, p *task.Pause) error {
	put(in(within), pausesTable, p.PauseTarget, *p)
	return nil
}

// FindPause implements engine.PauseStore.
func (*Store) FindPause(_ context.Context, within engine.Tx, target task.PauseTarget) (*task.Pause, error) {
	found, ok := in(within).s.pauses[target]
	if !ok {
		return nil, nil
	}
	return &found, nil
}

// CountPauses implements engine.PauseStore.
func (*Store) CountPauses(_ context.Context, within engine.Tx, namespace string) (all, of int, err error) {
	for _, p := range in(within).s.pauses {
		if p.EndedAt != 0 {
			continue
		}
		if all++; p.Namespace == namespace {
			of++
		}
	}
	return all, of, nil
}

// DropPauses implements engine.PauseStore.
func (*Store) DropPauses(_ context.Context, within engine.Tx, before task.Instant, limit int) (n int, err error) {
	ended := slices.DeleteFunc(in(within).s.sortedPauses(), func(p task.Pause) bool {
		return p.EndedAt == 0 || p.EndedAt >= before
	})
	slices.SortStableFunc(ended, func(a, b task.Pause) int { return cmp.Compare(a.EndedAt, b.EndedAt) })
	for _, p := range ended[:min(limit, len(ended))] {
		drop(in(within), pausesTable, p.PauseTarget)
		n++
	}
	return n, nil
}

// Pauses implements engine.PauseStore.
func (s *Store) Pauses(ctx context.Context, limit int) ([]task.Pause, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	list := st.sortedPauses()
	return list[:min(limit, len(list))], nil
}

// sortedPauses returns the pauses in force by target, then the others, latest first.
func (s *state) sortedPauses() []task.Pause {
	list := make([]task.Pause, 0, len(s.pauses))
	for _, p := range s.pauses {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b task.Pause) int {
		switch {
		case a.EndedAt == 0 && b.EndedAt != 0:
			return -1
		case a.EndedAt != 0 && b.EndedAt == 0:
			return 1
		}
		return cmp.Or(cmp.Compare(b.EndedAt, a.EndedAt), a.Compare(b.PauseTarget))
	})
	return list
}
