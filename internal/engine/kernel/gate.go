package kernel

import (
	"context"
	"sync"

	"github.com/taskerhq/tasker/internal/model/task"
)

// gate permits handing out steps while this process may, and waits for those under way when it may not; see terms.go.
// It is safe for concurrent use. Every claim enters and leaves, so mu is held briefly.
type gate struct {
	mu      sync.Mutex
	at      handOutFrom
	epoch   int64        // grows with each change
	until   task.Instant // the permission ends
	permits int          // not returned yet
	idle    chan struct{}
	opened  chan struct{} // closed when it opens
}

// handOutFrom is where ready steps are handed out; zero: a shut gate.
type handOutFrom int

const (
	fromNowhere  handOutFrom = iota
	fromAnywhere             // no other process works on the store: there is no gate
	fromStore
	fromDispatch
)

func newGate() *gate { return &gate{opened: make(chan struct{})} }

// permit allows handing out steps from one place, until leave. The zero permit needs no leave.
type permit struct {
	g     *gate
	at    handOutFrom
	epoch int64
}

func (g *gate) enter(now task.Instant) (p permit, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == fromNowhere || now >= g.until {
		return permit{}, false
	}
	g.permits++
	return permit{g, g.at, g.epoch}, true
}

// enterDispatch works even when the time for handing out new steps is over, because the dispatcher keeps the leases.
func (g *gate) enterDispatch() (p permit, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at != fromDispatch {
		return permit{}, false
	}
	g.permits++
	return permit{g, g.at, g.epoch}, true
}

func (p permit) leave() {
	g := p.g
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.permits--; g.permits == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

func (p permit) isValid(now task.Instant) bool {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	return p.g.at == p.at && p.g.epoch == p.epoch && now < p.g.until
}

func (g *gate) isOpen(now task.Instant) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at != fromNowhere && now < g.until
}

func (g *gate) open(to handOutFrom, until task.Instant) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = until
	if g.at == to {
		return false
	}
	g.at = to
	g.epoch++
	close(g.opened)
	return true
}

func (g *gate) extend(until task.Instant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = until
}

// shut does not withdraw permits.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at != fromNowhere {
		g.epoch++
		g.at, g.opened = fromNowhere, make(chan struct{})
	}
}

// drained requires a shut gate.
func (g *gate) drained(ctx context.Context) error {
	g.mu.Lock()
	if g.permits == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	quiet := g.idle
	g.mu.Unlock()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) opening() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened
}

func (g *gate) openEpoch(now task.Instant) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == fromNowhere || now >= g.until {
		return 0
	}
	return g.epoch
}
