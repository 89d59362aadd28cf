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

func (e *Engine) newOutbox() *outbox {
	return coalesce.New(callers, 1, func(batch []dispatchUpdate) ([]struct{}, error) {
		e.sendUpdates(batch)
		return make([]struct{}, len(batch)), nil
	})
}

// flush waits until what is in the outbox now has been passed on.
func (g *dispatchState) flush() {
	_, _ = g.outbox.Do(context.Background(), dispatchUpdate{}) // it has no error
}

// sendUpdates tells the dispatcher of transactions, and then wakes those who wait for
// what has become ready: also when the dispatcher was not told, because then they
// find it in the store.
func (e *Engine) sendUpdates(batch []dispatchUpdate) {
	gone, fresh, queued := mergeUpdates(batch)
	ctx := context.Background() // the dispatcher has time-outs of its own
	if len(gone) > 0 {
		e.dispatch.forget(gone)
		if err := e.dispatch.d.Remove(ctx, gone); err != nil {
			e.dispatch.addMissed(gone)
			e.dispatchFailed(err)
		}
	}
	if len(fresh) > 0 {
		if err := e.dispatch.d.Offer(ctx, fresh); err != nil {
			e.dispatchFailed(err)
		} else {
			e.dispatch.submitted.offered(fresh, e.instant())
		}
	}
	if len(queued) > 0 {
		e.restoreRoutes(queued)
		e.waiters.ready(queued)
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
