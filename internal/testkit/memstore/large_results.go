package memstore

import (
	"context"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func largeResultsTable(s *state) map[string]task.LargeResult { return s.largeResults }

// LargeResultStore implements engine.Database.
func (s *Store) LargeResultStore() engine.LargeResultStore { return s }

// AddLargeResult implements engine.LargeResultStore.
func (*Store) AddLargeResult(_ context.Context, within engine.Tx, l *task.LargeResult, most int) (bool, error) {
	t := in(within)
	others := 0
	for key, other := range t.s.largeResults {
		if other.Step == l.Step && key != l.Key {
			others++
		}
	}
	known, found := t.s.largeResults[l.Key]
	if others >= most || found && known.State != task.LargeSent {
		return false, nil
	}
	row := *l
	row.State = task.LargeSent
	put(t, largeResultsTable, l.Key, row)
	return true, nil
}

func moveLargeResult(t *tx, key string, from, to task.LargeResultState) (l task.LargeResult, moved bool) {
	l, found := t.s.largeResults[key]
	if !found || l.State != from {
		return l, false
	}
	l.State = to
	put(t, largeResultsTable, key, l)
	return l, true
}

// TakeLargeResult implements engine.LargeResultStore.
func (*Store) TakeLargeResult(_ context.Context, within engine.Tx, key string) (*task.LargeResult, error) {
	l, moved := moveLargeResult(in(within), key, task.LargeSent, task.LargeTaken)
	if !moved {
		return nil, nil
	}
	return &l, nil
}

// FindUnusedLargeResults implements engine.LargeResultStore.
func (s *Store) FindUnusedLargeResults(ctx context.Context, sentBefore task.Instant, limit int,
) ([]task.LargeResult, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var list []task.LargeResult
	for _, key := range slices.Sorted(maps.Keys(st.largeResults)) {
		l, step := st.largeResults[key], st.steps[st.largeResults[key].Step]
		unused := l.State == task.LargeDoomed
		switch l.State {
		case task.LargeSent:
			unused = l.At < sentBefore && (step == nil || step.Token > l.Token || step.State.Terminal() ||
				step.State == task.StepErrored)
		case task.LargeTaken:
			refers := step != nil && task.LargeResultOf(step.ID, step.Result) != nil &&
				task.LargeResultOf(step.ID, step.Result).Key == key
			unused = !refers
		}
		if unused && len(list) < limit {
			list = append(list, l)
		}
	}
	return list, nil
}

// DoomLargeResult implements engine.LargeResultStore.
func (*Store) DoomLargeResult(_ context.Context, within engine.Tx, key string, from task.LargeResultState,
) (bool, error) {
	_, moved := moveLargeResult(in(within), key, from, task.LargeDoomed)
	return moved, nil
}

// DropLargeResults implements engine.LargeResultStore.
func (*Store) DropLargeResults(_ context.Context, within engine.Tx, keys []string) error {
	t := in(within)
	for _, key := range keys {
		if t.s.largeResults[key].State == task.LargeDoomed {
			drop(t, largeResultsTable, key)
		}
	}
	return nil
}
