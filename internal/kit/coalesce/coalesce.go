// Package coalesce gathers concurrent callers of one operation into batches, as group commit does: the first caller
// runs alone without delay, and the callers that arrive meanwhile share the next batch. No call is delayed to fill a
// batch.
//
// The SDK has another gatherer, which weighs and splits requests and makes other promises. gather.go of the root
// package compares the two.
package coalesce

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
)

// Group coalesces calls. In and Out are one caller's request and answer.
type Group[In, Out any] struct {
	run   func([]In) ([]Out, error)
	limit int // items of a batch
	lanes int // concurrent batches
	// apart reports whether a batch that failed is tried in parts; nil: never.
	apart func(error) bool

	mu      sync.Mutex
	waiting []*call[In, Out]
	busy    int
}

type call[In, Out any] struct {
	in   In
	out  Out
	err  error
	done chan struct{}
}

// New returns a Group. run gets a batch of at most limit requests and returns one answer each, in order; its error goes
// to every caller of the batch; see Apart. At most lanes batches run concurrently.
func New[In, Out any](limit, lanes int, run func([]In) ([]Out, error)) *Group[In, Out] {
	return &Group[In, Out]{run: run, limit: limit, lanes: lanes}
}

// Apart lets a batch that failed as a whole be tried in halves, down to single requests, if of says so about its error:
// then one bad request fails its caller alone. run must have changed nothing when it fails. Call Apart before Do.
func (g *Group[In, Out]) Apart(of func(error) bool) *Group[In, Out] {
	g.apart = of
	return g
}

// Do runs in as part of a batch and returns its answer. It blocks until the batch has run. When ctx ends before the
// batch has begun, Do withdraws the request and returns the error of ctx; after that it waits for the outcome, so that
// it is never unknown.
func (g *Group[In, Out]) Do(ctx context.Context, in In) (Out, error) {
	var none Out
	if err := ctx.Err(); err != nil {
		return none, err
	}
	c := &call[In, Out]{in: in, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, c)
	lead := g.busy < g.lanes
	var batch []*call[In, Out]
	if lead {
		g.busy++
		batch = g.take()
	}
	g.mu.Unlock()

	if lead {
		// In the caller's goroutine: an idle group costs no switch.
		g.serve(batch)
	}
	select {
	case <-c.done:
		return c.out, c.err
	default:
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		if g.withdraw(c) {
			return none, ctx.Err()
		}
		<-c.done
	}
	return c.out, c.err
}

// Post runs in as part of a batch, after everything posted before, and drops its answer. It does not block.
func (g *Group[In, Out]) Post(in In) {
	g.mu.Lock()
	g.waiting = append(g.waiting, &call[In, Out]{in: in, done: make(chan struct{})})
	lead := g.busy < g.lanes
	if lead {
		g.busy++
	}
	g.mu.Unlock()
	if lead {
		go g.goOn(0)
	}
}

// withdraw removes a call from the queue, unless its batch has begun.
func (g *Group[In, Out]) withdraw(c *call[In, Out]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, c)
	if i < 0 {
		return false
	}
	// The queue shares its array with running batches.
	g.waiting = slices.Concat(g.waiting[:i], g.waiting[i+1:])
	return true
}

// The caller of take holds mu.
func (g *Group[In, Out]) take() []*call[In, Out] {
	n := min(len(g.waiting), g.limit)
	batch := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	if len(g.waiting) == 0 {
		g.waiting = nil
	}
	return batch
}

// serve runs a batch and passes the lane on to later callers.
func (g *Group[In, Out]) serve(batch []*call[In, Out]) {
	g.answer(batch)
	g.mu.Lock()
	alone := len(batch) == 1 && len(g.waiting) == 0
	if alone {
		g.busy--
	}
	g.mu.Unlock()
	if !alone {
		go g.goOn(len(batch))
	}
}

// goOn runs batches until no call waits.
func (g *Group[In, Out]) goOn(answered int) {
	for {
		g.regroup(answered)
		g.mu.Lock()
		if len(g.waiting) == 0 {
			g.busy--
			g.mu.Unlock()
			return
		}
		batch := g.take()
		g.mu.Unlock()
		g.answer(batch)
		answered = len(batch)
	}
}

// yields bounds how long a lane stays open for returning callers: some microseconds.
const yields = 64

// regroup gives the answered callers time to return with their next request. Otherwise callers in a loop fall into two
// groups, one running while the other waits, and each batch is half as large. It yields: the shortest sleep takes far
// longer.
func (g *Group[In, Out]) regroup(answered int) {
	g.mu.Lock()
	want := min(len(g.waiting)+answered, g.limit)
	g.mu.Unlock()
	for range yields {
		runtime.Gosched()
		g.mu.Lock()
		back := len(g.waiting) >= want
		g.mu.Unlock()
		if back {
			return
		}
	}
}

func (g *Group[In, Out]) answer(batch []*call[In, Out]) {
	ins := make([]In, len(batch))
	for i, c := range batch {
		ins[i] = c.in
	}
	outs, err := g.guarded(ins)
	if err != nil && len(batch) > 1 && g.apart != nil && g.apart(err) {
		g.answer(batch[:len(batch)/2])
		g.answer(batch[len(batch)/2:])
		return
	}
	for i, c := range batch {
		if c.err = err; err == nil {
			c.out = outs[i]
		}
		close(c.done)
	}
}

// guarded turns a panic into every caller's error; otherwise all later callers would block.
func (g *Group[In, Out]) guarded(ins []In) (outs []Out, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a batch: %v\n%s", p, debug.Stack())
		}
	}()
	return g.run(ins)
}
