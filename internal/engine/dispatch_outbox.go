package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/coalesce"
	"github.com/taskerhq/tasker/internal/task"
)

// The outbox passes what transactions did on to the dispatcher, in their order and
// many at once, while those who waited for the transactions go on. What it has not
// passed on when the process dies is found by the sweep.

// dispatchUpdate is what the dispatcher has to hear of one transaction.
type dispatchUpdate struct {
	gone   []Removal     // are not ready any more, or not in that place
	fresh  []Offered     // have become ready
	queued map[int64]int // how many, for those who wait for them
}

type outbox = coalesce.Group[dispatchUpdate, struct{}]

func (g *dispatchQueue) newOutbox() *outbox {
	return coalesce.New(callers, 1, func(batch []dispatchUpdate) ([]struct{}, error) {
		g.sendUpdates(batch)
		return make([]struct{}, len(batch)), nil
	})
}

// flush waits until what is in the outbox now has been passed on.
func (g *dispatchQueue) flush() {
	_, _ = g.outbox.Do(context.Background(), dispatchUpdate{}) // it has no error
}

// sendUpdates tells the dispatcher of transactions, and then wakes those who wait for
// what has become ready: also when the dispatcher was not told, because then they
// find it in the store.
func (g *dispatchQueue) sendUpdates(batch []dispatchUpdate) {
	gone, fresh, queued := mergeUpdates(batch)
	ctx := context.Background() // the dispatcher has time-outs of its own
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
			g.submitted.offered(fresh, g.e.instant())
		}
	}
	if len(queued) > 0 {
		g.e.restoreRoutes(queued)
		g.e.waiters.ready(queued)
	}
}

// mergeUpdates is what is left to tell of a sequence of follow-ups when the dispatcher
// first takes out and then lets in.
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
