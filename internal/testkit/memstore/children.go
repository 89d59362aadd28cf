package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// childKey names a child, or a window of items.
type childKey struct {
	step  task.ID
	index int
}

func fanOutsTable(s *state) map[task.ID]task.FanOut    { return s.fanOuts }
func itemsTable(s *state) map[childKey][]byte          { return s.items }
func childrenTable(s *state) map[childKey]engine.Child { return s.children }

// ChildStore implements engine.Database.
func (s *Store) ChildStore() engine.ChildStore { return s }

// WakeFanOuts implements engine.ChildRows.
func (*Store) WakeFanOuts(_ context.Context, within engine.Tx, steps []*task.Step) error {
	t := in(within)
	for _, st := range steps {
		f, known := t.s.fanOuts[st.ID]
		if !known {
			f = task.FanOut{Step: st.ID, Task: st.TaskID, Total: task.Unlisted}
		}
		if f.Fresh = true; known {
			f.Rev++
		}
		put(t, fanOutsTable, st.ID, f)
	}
	return nil
}

// FanOutsIn implements engine.ChildRows.
func (*Store) FanOutsIn(_ context.Context, within engine.Tx, steps []task.ID) ([]*task.FanOut, error) {
	return in(within).s.fanOutsOf(steps), nil
}

// FanOuts implements engine.ChildReads.
func (s *Store) FanOuts(ctx context.Context, steps []task.ID) ([]*task.FanOut, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return st.fanOutsOf(steps), nil
}

func (s *state) fanOutsOf(steps []task.ID) (out []*task.FanOut) {
	for _, id := range steps {
		if f, known := s.fanOuts[id]; known {
			out = append(out, &f)
		}
	}
	return out
}

// DueFanOuts implements engine.ChildReads.
func (s *Store) DueFanOuts(ctx context.Context, limit int) ([]*task.FanOut, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	due := map[task.ID]bool{}
	for id, f := range st.fanOuts {
		due[id] = f.Fresh
	}
	for k, c := range st.children {
		due[k.step] = due[k.step] || c.Fresh
	}
	var ids []task.ID
	for id, is := range due {
		if is {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, compareIDs)
	return st.fanOutsOf(ids[:min(limit, len(ids))]), nil
}

// SaveFanOuts implements engine.ChildRows.
func (*Store) SaveFanOuts(_ context.Context, within engine.Tx, of []*task.FanOut) error {
	t := in(within)
	for _, f := range of {
		put(t, fanOutsTable, f.Step, *f)
	}
	return nil
}

// AddItems implements engine.ChildRows.
func (*Store) AddItems(_ context.Context, within engine.Tx, step task.ID, windows [][]byte) error {
	t := in(within)
	for i, w := range windows {
		put(t, itemsTable, childKey{step, i}, slices.Clone(w))
	}
	return nil
}

// ItemWindow implements engine.ChildReads.
func (s *Store) ItemWindow(ctx context.Context, step task.ID, window int) ([]byte, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return slices.Clone(st.items[childKey{step, window}]), nil
}

// SaveChildren implements engine.ChildRows.
func (*Store) SaveChildren(_ context.Context, within engine.Tx, children []engine.Child) error {
	t := in(within)
	for _, c := range children {
		k := childKey{c.Step, c.Index}
		if c.Result = slices.Clone(c.Result); c.Result == nil {
			c.Result = t.s.children[k].Result
		}
		c.Size = len(c.Result)
		put(t, childrenTable, k, c)
	}
	return nil
}

// MarkChildren implements engine.ChildRows.
func (*Store) MarkChildren(_ context.Context, within engine.Tx, marks []engine.ChildMark) error {
	t := in(within)
	for _, m := range marks {
		for k, c := range t.s.children {
			if c.Task == m.Task {
				c.State, c.Fresh, c.Result, c.Size = m.State, true, slices.Clone(m.Result), len(m.Result)
				put(t, childrenTable, k, c)
				break
			}
		}
	}
	return nil
}

// LockFresh implements engine.ChildRows. There is one transaction at a time.
func (*Store) LockFresh(_ context.Context, within engine.Tx, step task.ID, limit int) ([]engine.Child, error) {
	return in(within).s.childrenOf(step, limit, false, func(c engine.Child) bool { return c.Fresh }), nil
}

// FreshChildren implements engine.ChildReads.
func (s *Store) FreshChildren(ctx context.Context, step task.ID, limit int) ([]engine.Child, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return st.childrenOf(step, limit, false, func(c engine.Child) bool { return c.Fresh }), nil
}

// ListChildren implements engine.ChildReads.
func (s *Store) ListChildren(ctx context.Context, step task.ID, f engine.ChildFilter) ([]engine.Child, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return st.childrenOf(step, f.Limit, f.Results, func(c engine.Child) bool {
		return c.Index >= f.From && (len(f.States) == 0 || slices.Contains(f.States, c.State))
	}), nil
}

// childrenOf returns up to limit wanted children of a step, by index.
func (s *state) childrenOf(step task.ID, limit int, results bool, wanted func(engine.Child) bool) []engine.Child {
	var out []engine.Child
	for k, c := range s.children {
		if k.step != step || !wanted(c) {
			continue
		}
		if c.Result = slices.Clone(c.Result); !results {
			c.Result = nil
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b engine.Child) int { return cmp.Compare(a.Index, b.Index) })
	return out[:min(limit, len(out))]
}

// parentLives reports whether a task has a parent that has not ended.
func (s *state) parentLives(t *task.Task) bool {
	of := t.Meta.Child
	if of == nil || s.children[childKey{of.Step, of.Index}].Task != t.ID {
		return false
	}
	f, known := s.fanOuts[of.Step]
	return known && s.tasks[f.Task] != nil && !s.tasks[f.Task].State.Terminal()
}

func (t *tx) dropChildren(steps []task.ID) {
	for _, id := range steps {
		if _, known := t.s.fanOuts[id]; known {
			drop(t, fanOutsTable, id)
		}
	}
	for k := range t.s.items {
		if slices.Contains(steps, k.step) {
			drop(t, itemsTable, k)
		}
	}
	for k := range t.s.children {
		if slices.Contains(steps, k.step) {
			drop(t, childrenTable, k)
		}
	}
}
