package memstore

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func uniqueTable(s *state) map[engine.KeyName]engine.Holder { return s.unique }

// UniqueStore implements engine.Database.
func (s *Store) UniqueStore() engine.UniqueStore { return s }

// guardian returns the holder of a key; false if it is not bound.
func (s *state) guardian(n engine.KeyName) (g engine.Guardian, bound bool) {
	g.Holder, bound = s.unique[n]
	if row := s.tasks[g.Task]; row != nil {
		g.State = row.State
	}
	return g, bound
}

func (t *tx) bindUnique(n engine.KeyName, to engine.Holder) {
	put(t, uniqueTable, n, to)
	t.touched[to.Task] = true
}

// WithoutWaiting implements engine.UniqueStore. There is one transaction at a time, so no key is locked.
func (*Store) WithoutWaiting(_ context.Context, _ engine.Tx, fn func() error) error { return fn() }

// TakeUnique implements engine.UniqueStore.
func (*Store) TakeUnique(_ context.Context, within engine.Tx, asks []engine.UniqueAsk, now task.Instant,
) ([]engine.Guardian, error) {
	t := in(within)
	answers := make([]engine.Guardian, len(asks))
	for i, a := range asks {
		if g, bound := t.s.guardian(a.Name); bound && g.Guards(now) {
			answers[i] = g
		} else {
			t.bindUnique(a.Name, a.To)
		}
	}
	return answers, nil
}

// MoveUnique implements engine.UniqueStore.
func (*Store) MoveUnique(_ context.Context, within engine.Tx, moves []engine.UniqueMove,
) (map[engine.KeyName]bool, error) {
	t := in(within)
	moved := map[engine.KeyName]bool{}
	for _, m := range moves {
		if h, bound := t.s.unique[m.Name]; bound && h.Task == m.From {
			t.bindUnique(m.Name, m.To)
			moved[m.Name] = true
		}
	}
	return moved, nil
}

// DropUnique implements engine.UniqueStore. Which of more than limit keys go first is arbitrary.
func (*Store) DropUnique(_ context.Context, within engine.Tx, before task.Instant, limit int) (int, error) {
	t := in(within)
	n := 0
	for name, h := range t.s.unique {
		if n < limit && h.Until > 0 && h.Until < before {
			drop(t, uniqueTable, name)
			n++
		}
	}
	return n, nil
}

// Guardians implements engine.UniqueStore.
func (s *Store) Guardians(ctx context.Context, names []engine.KeyName) (map[engine.KeyName]engine.Guardian, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	out := map[engine.KeyName]engine.Guardian{}
	for _, n := range names {
		if g, bound := st.guardian(n); bound {
			out[n] = g
		}
	}
	return out, nil
}
