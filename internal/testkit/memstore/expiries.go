package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Expiries implements engine.ExpiryStore.
func (s *Store) Expiries(ctx context.Context, since, until task.Instant, limit int) ([]engine.Expiry, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	type key struct {
		hour        task.Instant
		worker, def int64
	}
	counts := map[key]*engine.Expiry{}
	for id, attempts := range st.attempts {
		for _, a := range attempts {
			if a.Outcome != task.DispatchExpired || a.FinishedAt < since || a.FinishedAt >= until {
				continue
			}
			hour := a.FinishedAt - a.FinishedAt%task.Instant(time.Hour.Microseconds())
			k := key{hour, a.WorkerNo, st.tasks[id].DefID}
			if counts[k] == nil {
				counts[k] = &engine.Expiry{Hour: hour, Worker: k.worker, DefID: k.def}
			}
			counts[k].Count++
			counts[k].Last = max(counts[k].Last, a.FinishedAt)
		}
	}
	var list []engine.Expiry
	for _, e := range counts {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b engine.Expiry) int {
		return cmp.Or(-cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.DefID, b.DefID))
	})
	return list[:min(len(list), limit)], nil
}
