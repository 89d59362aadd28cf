package remote

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/taskerhq/tasker/internal/api/wire"
)

// gatherer sends the items of concurrent callers together. An item that comes alone is sent immediately; items that
// arrive during a request share the next one. A second lane opens only for many items: with few callers it would
// halve the items per request, and a request costs more than its items.
//
// The server's internal/kit/coalesce differs in its contract: a gatherer weighs its items, bounds the bytes of a
// request, halves a refused request, opens lanes by demand, and releases a caller as soon as its ctx ends, although
// the answer is unknown then. A coalesce.Group promises that the outcome is known, runs the first call in its
// caller's goroutine, and survives a panic.
type gatherer[T, R any] struct {
	ctx       context.Context // of the requests; the ctx of one caller would end them for others
	verb      string          // the caller's intention, for errors
	send      func(context.Context, []T) ([]R, error)
	weigh     func(*T) int
	lanes     int // requests in flight, at most
	widenAt   int // items waiting that open another lane
	maxItems  int
	maxWeight int // of one request, unless a single item weighs more

	mu    sync.Mutex
	queue []*waiter[T, R]
	busy  int
}

type waiter[T, R any] struct {
	item    T
	result  R
	err     error
	done    chan struct{} // closed when result and err are set
	settled bool          // sent, or abandoned
}

// newGatherer returns a gatherer whose requests end with ctx. lanes, widenAt, maxItems and maxWeight are at least 1;
// send must return as many results as it got items, or an error.
func newGatherer[T, R any](
	ctx context.Context, verb string, lanes, widenAt, maxItems, maxWeight int,
	weigh func(*T) int, send func(context.Context, []T) ([]R, error),
) *gatherer[T, R] {
	return &gatherer[T, R]{
		ctx: ctx, verb: verb, send: send, weigh: weigh,
		lanes: lanes, widenAt: widenAt, maxItems: maxItems, maxWeight: maxWeight,
	}
}

// do sends item and returns its answer. When ctx ends first, do returns its error immediately: an unsent item is then
// never sent, and an item in a request may still take effect.
func (g *gatherer[T, R]) do(ctx context.Context, item T) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%s: %w", g.verb, err)
	}
	// The lock covers the decision to open a lane, so that no item is left in the queue without one.
	w := &waiter[T, R]{item: item, done: make(chan struct{})}
	g.mu.Lock()
	g.queue = append(g.queue, w)
	if g.busy == 0 || (g.busy < g.lanes && len(g.queue) >= g.widenAt) {
		g.busy++
		// Not in this goroutine: the caller must be able to return when its ctx ends.
		go g.run()
	}
	g.mu.Unlock()

	select {
	case <-w.done:
		return w.result, w.err
	case <-ctx.Done():
	}
	g.mu.Lock()
	w.settled = true // take skips it if it is still queued
	g.mu.Unlock()
	return none, fmt.Errorf("%s: %w", g.verb, ctx.Err())
}

// run is one lane: it sends until the queue is empty.
func (g *gatherer[T, R]) run() {
	for {
		batch := g.take()
		if batch == nil {
			return
		}
		g.deliver(batch)
		g.regroup(len(batch))
	}
}

// regroupYields bounds how long a lane stays open for callers to return: some tens of microseconds.
const regroupYields = 200

// regroup gives the n callers just answered the moment they need to return with their next item. Without it, callers
// in a loop fall into two groups, and each request carries half. It yields instead of sleeping, because so short a
// sleep may take twenty times as long.
func (g *gatherer[T, R]) regroup(n int) {
	g.mu.Lock()
	want := min(len(g.queue)+n, g.maxItems)
	g.mu.Unlock()
	for range regroupYields {
		runtime.Gosched()
		g.mu.Lock()
		back := len(g.queue) >= want
		g.mu.Unlock()
		if back {
			return
		}
	}
}

// take removes the next batch from the queue. When the queue is empty, it frees the lane and returns nil.
func (g *gatherer[T, R]) take() []*waiter[T, R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	var batch []*waiter[T, R]
	taken, weight := 0, 0
	for _, w := range g.queue {
		if w.settled {
			taken++
			continue
		}
		weight += g.weigh(&w.item)
		if len(batch) > 0 && (weight > g.maxWeight || len(batch) == g.maxItems) {
			break
		}
		if batch == nil {
			batch = make([]*waiter[T, R], 0, min(len(g.queue), g.maxItems))
		}
		w.settled = true
		batch = append(batch, w)
		taken++
	}
	rest := copy(g.queue, g.queue[taken:])
	clear(g.queue[rest:]) // release the taken items
	g.queue = g.queue[:rest]
	if batch == nil {
		g.busy--
	}
	return batch
}

// deliver sends batch and answers its callers. It sends a refused batch again in halves, because one bad item must
// not fail those of other callers; the codes of these refusals promise that nothing was stored.
func (g *gatherer[T, R]) deliver(batch []*waiter[T, R]) {
	items := make([]T, len(batch))
	for i, w := range batch {
		items[i] = w.item
	}
	results, err := g.send(g.ctx, items)
	if wire.RefusedWhole(err) && len(batch) > 1 {
		half := len(batch) / 2
		g.deliver(batch[:half])
		g.deliver(batch[half:])
		return
	}
	for i, w := range batch {
		if w.err = err; err == nil {
			w.result = results[i]
		}
		close(w.done)
	}
}
