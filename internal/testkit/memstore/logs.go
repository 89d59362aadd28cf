package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func logsTable(s *state) map[task.ID][]task.AttemptLog { return s.logs }

// LogStore implements engine.Database.
func (s *Store) LogStore() engine.LogStore { return s }

// AddLog implements engine.LogStore.
func (*Store) AddLog(_ context.Context, within engine.Tx, l *task.AttemptLog, kept int) error {
	t := in(within)
	list := slices.DeleteFunc(slices.Clone(t.s.logs[l.Step]), func(old task.AttemptLog) bool {
		return old.Token == l.Token
	})
	list = append(list, *l)
	slices.SortFunc(list, func(a, b task.AttemptLog) int { return cmp.Compare(b.Token, a.Token) })
	put(t, logsTable, l.Step, list[:min(kept, len(list))])
	return nil
}

// Logs implements engine.LogStore.
func (s *Store) Logs(ctx context.Context, step task.ID) ([]task.AttemptLog, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return slices.Clone(st.logs[step]), nil
}
