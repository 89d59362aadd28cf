package storetest

import (
	"context"
	"math"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A parked step is not ready for any worker, whether it was new or on its route. Its queue returns steps in order.
func parked(f *fixture) {
	limit, paused := task.ParkedLimit(7), task.ParkedTemplate(7)
	route := f.routeOf("a")
	fresh, moved, free := f.keyed("a", 5), f.keyed("a", 6), f.keyed("a", 7)
	f.must(fresh.steps[0].Park(limit, task.Scheduling{}))
	f.insert(fresh, moved, free)
	f.equal("ready", f.ready(10, route), stepIDs(moved, free))

	f.must(moved.steps[0].Park(paused, task.Scheduling{}))
	f.write(func(ctx context.Context, tx engine.Tx) error { return tx.SaveSteps(ctx, moved.steps) })
	f.wantJob(fresh)
	f.wantJob(moved)
	f.equal("ready", f.ready(10, route), stepIDs(free))

	counts, err := f.store.QueueStore().ReadyCounts(f.Context(), 100)
	f.must(err)
	f.equal("counts", counts, map[int64]int{route: 1})
	set, err := f.store.QueueStore().CountPaused(f.Context(), 100)
	f.must(err)
	f.equal("set aside by pauses", set, 1)
	sample, err := f.store.QueueStore().ReadySample(f.Context(), 1, 100)
	f.must(err)
	f.equal("sample", len(sample), 1)

	between := func(queue int64) []task.ID {
		var ids []task.ID
		f.write(func(ctx context.Context, tx engine.Tx) error {
			steps, err := tx.Between(ctx, queue, engine.Position{Key: math.MinInt64}, math.MaxInt64, 10)
			ids = nil // the transaction may run more than once
			for _, s := range steps {
				ids = append(ids, s.ID)
			}
			return err
		})
		return ids
	}
	f.equal("held by the limit", between(limit), stepIDs(fresh))
	f.equal("held by the pause", between(paused), stepIDs(moved))

	f.must(fresh.steps[0].Release(f.now, task.Scheduling{}))
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := tx.SaveSteps(ctx, fresh.steps); err != nil {
			return err
		}
		vacant, err := tx.Vacant(ctx, route)
		f.equal("vacant in the transaction that releases", vacant, false)
		return err
	})
	f.wantJob(fresh)
	f.equal("ready after the release", len(f.ready(10, route)), 2)
	f.equal("held by the limit", len(between(limit)), 0)
}
