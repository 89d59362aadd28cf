package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

type waiting struct {
	engine.Waiting
	place int64
	fresh bool
}

func headsTable(s *state) map[engine.OrderingKey]task.ID { return s.heads }
func waitsTable(s *state) map[task.ID]waiting            { return s.waits }

// OrderingStore implements engine.Database.
func (s *Store) OrderingStore() engine.OrderingStore { return s }

// AddWaiting implements engine.OrderingStore.
func (*Store) AddWaiting(_ context.Context, within engine.Tx, tasks []engine.Waiting, now task.Instant) error {
	t := in(within)
	for i, w := range tasks {
		place := int64(now)
		for _, o := range t.s.waits {
			if o.Key == w.Key {
				place = max(place, o.place+1)
			}
		}
		put(t, waitsTable, w.Task, waiting{w, place + int64(i), true})
	}
	return nil
}

func (s *state) sortedWaits() []waiting {
	list := make([]waiting, 0, len(s.waits))
	for _, w := range s.waits {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b waiting) int {
		return cmp.Or(cmp.Compare(a.place, b.place), compareIDs(a.Task, b.Task))
	})
	return list
}

// FreshWaiting implements engine.OrderingStore.
func (s *Store) FreshWaiting(ctx context.Context, limit int) ([]engine.Waiting, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []engine.Waiting
	for _, w := range st.sortedWaits() {
		if w.fresh && len(out) < limit {
			out = append(out, w.Waiting)
		}
	}
	return out, nil
}

// LockHeads implements engine.OrderingStore. There is one transaction at a time, so no head is locked.
func (*Store) LockHeads(_ context.Context, within engine.Tx, keys []engine.OrderingKey,
) (locked, vacant []engine.OrderingKey, err error) {
	t := in(within)
	for _, k := range keys {
		if _, found := t.s.heads[k]; found {
			locked = append(locked, k)
		} else {
			vacant = append(vacant, k)
		}
	}
	return locked, vacant, nil
}

// FirstWaiting implements engine.OrderingStore.
func (*Store) FirstWaiting(_ context.Context, within engine.Tx, keys []engine.OrderingKey) ([]engine.Waiting, error) {
	t := in(within)
	all := t.s.sortedWaits()
	var out []engine.Waiting
	for _, k := range keys {
		if i := slices.IndexFunc(all, func(w waiting) bool { return w.Key == k }); i >= 0 {
			out = append(out, all[i].Waiting)
		}
	}
	return out, nil
}

// AddHeads implements engine.OrderingStore.
func (*Store) AddHeads(_ context.Context, within engine.Tx, heads []engine.Waiting) ([]engine.OrderingKey, error) {
	t := in(within)
	var won []engine.OrderingKey
	for _, h := range heads {
		if _, taken := t.s.heads[h.Key]; !taken {
			put(t, headsTable, h.Key, h.Task)
			won = append(won, h.Key)
		}
	}
	return won, nil
}

// RemoveHeads implements engine.OrderingStore.
func (*Store) RemoveHeads(_ context.Context, within engine.Tx, tasks []task.ID) ([]engine.OrderingKey, error) {
	t := in(within)
	var keys []engine.OrderingKey
	for k, id := range t.s.heads {
		if slices.Contains(tasks, id) {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		drop(t, headsTable, k)
	}
	return keys, nil
}

// RemoveWaiting implements engine.OrderingStore.
func (*Store) RemoveWaiting(_ context.Context, within engine.Tx, tasks []task.ID) error {
	t := in(within)
	for _, id := range tasks {
		if _, waits := t.s.waits[id]; waits {
			drop(t, waitsTable, id)
		}
	}
	return nil
}

// MarkKnown implements engine.OrderingStore.
func (*Store) MarkKnown(_ context.Context, within engine.Tx, tasks []task.ID) error {
	t := in(within)
	for _, id := range tasks {
		if w, waits := t.s.waits[id]; waits {
			w.fresh = false
			put(t, waitsTable, id, w)
		}
	}
	return nil
}

// TurnOf implements engine.OrderingStore.
func (s *Store) TurnOf(ctx context.Context, of engine.Waiting) (engine.OrderPlace, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return engine.OrderPlace{}, err
	}
	defer done()
	turn := engine.OrderPlace{Head: st.heads[of.Key]}
	for _, w := range st.sortedWaits() {
		switch {
		case w.Key != of.Key:
		case w.Task == of.Task:
			turn.Waits = true
			return turn, nil
		default:
			turn.Before++
		}
	}
	turn.Before = 0
	return turn, nil
}

// CountWaiting implements engine.OrderingStore.
func (s *Store) CountWaiting(ctx context.Context, limit int) (int, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	return min(len(st.waits), limit), nil
}
