package tasker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// gatherer sends the items of concurrent callers together. Nothing waits for
// company: an item that comes alone goes out at once, and those that arrive
// while it is on its way go together in the next request. A second lane opens
// only for a good number of items: with few callers it would halve what a
// request carries, and a request costs more than its items.
//
// The server's internal/coalesce has the same idea and another contract, so they are two: a
// gatherer weighs its items, bounds the bytes of a request and halves one that was refused,
// opens lanes by demand, and lets its caller go as soon as the caller's ctx ends, although
// the answer is unknown then. A coalesce.Group promises that the outcome is known, runs the
// first call in its caller's goroutine, and survives a panic.
type gatherer[T, R any] struct {
	ctx       context.Context // of the requests; a caller's would end them for others
	verb      string          // what an item's caller wants, for errors
	send      func(context.Context, []T) ([]R, error)
	weigh     func(*T) int
	lanes     int // requests in flight, at most
	widenAt   int // items waiting that open another lane
	maxItems  int // of one request
	maxWeight int // of one request, unless a single item weighs more

	mu    sync.Mutex
	queue []*waiter[T, R]
	busy  int // lanes in use
}

// waiter is one caller with its item.
type waiter[T, R any] struct {
	item    T
	result  R
	err     error
	done    chan struct{} // closed when result and err are set
	settled bool          // taken for sending, or given up
}

func newGatherer[T, R any](
	ctx context.Context, verb string, lanes, widenAt, maxItems, maxWeight int,
	weigh func(*T) int, send func(context.Context, []T) ([]R, error),
) *gatherer[T, R] {
	return &gatherer[T, R]{
		ctx: ctx, verb: verb, send: send, weigh: weigh,
		lanes: lanes, widenAt: widenAt, maxItems: maxItems, maxWeight: maxWeight,
	}
}

// do sends item and returns its answer. When ctx ends first, do returns its
// error at once: an item that was not sent yet is then not sent, one that is on
// its way may still take effect.
func (g *gatherer[T, R]) do(ctx context.Context, item T) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%s: %w", g.verb, err)
	}
	w := &waiter[T, R]{item: item, done: make(chan struct{})}
	g.mu.Lock()
	g.queue = append(g.queue, w)
	if g.busy == 0 || (g.busy < g.lanes && len(g.queue) >= g.widenAt) {
		g.busy++
		// Not in this goroutine: the caller must be able to leave when its ctx ends.
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

// run is one lane: it sends until nothing waits.
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

// regroupYields bounds how long a lane stays open for callers to come back:
// some tens of microseconds.
const regroupYields = 200

// regroup gives the n callers that were just answered the moment they need to
// come back with their next item. Otherwise callers in a loop fall into two
// groups, one under way while the other waits, and each request carries half.
// It yields instead of sleeping, because a sleep this short may take twenty
// times as long.
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

// take removes the next batch from the queue. With an empty queue it gives the
// lane back and returns nil.
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
	clear(g.queue[rest:]) // let go of what was taken
	g.queue = g.queue[:rest]
	if batch == nil {
		g.busy--
	}
	return batch
}

// deliver sends batch and answers its callers. A batch that was refused whole
// is halved and sent again, because one bad item must not fail the items of
// other callers; the codes that mean so promise that nothing was stored.
func (g *gatherer[T, R]) deliver(batch []*waiter[T, R]) {
	items := make([]T, len(batch))
	for i, w := range batch {
		items[i] = w.item
	}
	results, err := g.send(g.ctx, items)
	if refusedWhole(err) && len(batch) > 1 {
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

// refusedWhole reports whether the server refused a batch, which may be the
// fault of a single item. An answer too long to read is no refusal: what it
// answers has happened.
func refusedWhole(err error) bool {
	if errors.Is(err, errAnswerTooLong) {
		return false
	}
	switch ErrorCode(err) {
	case CodeInvalid, CodeTooLarge:
		return true
	}
	return false
}
