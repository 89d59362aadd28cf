package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/kit/coalesce"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The outbox sends effects of transactions to the dispatcher, in order and in batches. The sweep finds updates that a
// dying process loses.

type dispatchUpdate struct {
	gone   []Removal // not ready, or not at that position
	fresh  []Offered
	queued map[int64]int // number of steps to wake pollers for, by route
}

type outbox = coalesce.Group[dispatchUpdate, struct{}]

// newOutbox sends one request at a time to keep the order.
func (g *dispatchQueue) newOutbox() *outbox {
	return coalesce.New(Callers, 1, func(batch []dispatchUpdate) ([]struct{}, error) {
		g.sendUpdates(batch)
		return make([]struct{}, len(batch)), nil
	})
}

func (g *dispatchQueue) flush() {
	_, _ = g.outbox.Do(context.Background(), dispatchUpdate{}) // it has no error
}

// sendUpdates wakes the waiters even if the dispatcher failed: they find the steps in the store.
func (g *dispatchQueue) sendUpdates(batch []dispatchUpdate) {
	gone, fresh, queued := mergeUpdates(batch)
	ctx := context.Background() // the dispatcher has time-outs
	if len(gone) > 0 {
		g.dropEnded(gone)
		if err := g.d.Remove(ctx, gone); err != nil {
			g.addMissed(gone)
			g.failOver(err)
		}
	}
	if len(fresh) > 0 {
		if err := g.d.Offer(ctx, fresh); err != nil {
			g.failOver(err)
		} else {
			g.submitted.offered(fresh, g.e.Now())
		}
	}
	if len(queued) > 0 {
		g.e.RestoreRoutes(queued)
		g.e.waiters.ready(queued)
	}
}

func mergeUpdates(batch []dispatchUpdate) (gone []Removal, fresh []Offered, queued map[int64]int) {
	if len(batch) == 1 {
		return batch[0].gone, batch[0].fresh, batch[0].queued
	}
	queued = map[int64]int{}
	at := map[task.ID]int{} // place in fresh, from 1
	for _, f := range batch {
		for _, s := range f.gone {
			gone = append(gone, s)
			if n := at[s.Step]; n > 0 {
				fresh[n-1].Step = task.ID{}
				delete(at, s.Step)
			}
		}
		for _, s := range f.fresh {
			fresh = append(fresh, s)
			at[s.Step] = len(fresh)
		}
		for route, n := range f.queued {
			queued[route] += n
		}
	}
	kept := fresh[:0]
	for _, s := range fresh {
		if s.Step != (task.ID{}) {
			kept = append(kept, s)
		}
	}
	return gone, kept, queued
}
