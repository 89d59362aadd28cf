package engine

import (
	"context"
	"sync"

	"github.com/taskerhq/tasker/internal/task"
)

// gate lets steps be handed out while this process may do that, and waits for those
// that are being handed out when it may not any more. See terms.
type gate struct {
	mu      sync.Mutex
	at      handOutFrom
	epoch   int64        // grows whenever it opens or shuts
	until   task.Instant // nothing is handed out from then on
	permits int          // passes that are out
	idle    chan struct{}
	opened  chan struct{} // closed when it opens
}

// handOutFrom is where ready steps are handed out.
type handOutFrom int

const (
	fromNowhere  handOutFrom = iota
	fromAnywhere             // where no other process works on the store: no gate says it
	fromStore
	fromDispatch
)

func newGate() *gate { return &gate{opened: make(chan struct{})} }

// permit is the right to hand out steps in one place, until it is left.
type permit struct {
	g     *gate
	at    handOutFrom
	epoch int64
}

// enter returns a pass; ok is false while nothing may be handed out.
func (g *gate) enter(now task.Instant) (p permit, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == fromNowhere || now >= g.until {
		return permit{}, false
	}
	g.permits++
	return permit{g, g.at, g.epoch}, true
}

// enterDispatch returns a pass for leases that the dispatcher keeps, which go on while this
// process may hand out nothing new.
func (g *gate) enterDispatch() (p permit, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at != fromDispatch {
		return permit{}, false
	}
	g.permits++
	return permit{g, g.at, g.epoch}, true
}

// leave gives the pass back.
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

// isValid reports whether the pass would be given out again.
func (p permit) isValid(now task.Instant) bool {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	return p.g.at == p.at && p.g.epoch == p.epoch && now < p.g.until
}

// isOpen reports whether steps may be handed out.
func (g *gate) isOpen(now task.Instant) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at != fromNowhere && now < g.until
}

// open lets steps be handed out in a place. It reports whether they were not before.
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

// extend lets them be handed out for longer, if it is open.
func (g *gate) extend(until task.Instant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = until
}

// shut lets nothing more be handed out. Passes that are out stay.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at != fromNowhere {
		g.epoch++
		g.at, g.opened = fromNowhere, make(chan struct{})
	}
}

// drained waits until no pass is out.
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

// opening is closed when the gate opens.
func (g *gate) opening() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened
}

// openEpoch tells the times apart in which steps are handed out; 0 while none are.
func (g *gate) openEpoch(now task.Instant) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == fromNowhere || now >= g.until {
		return 0
	}
	return g.epoch
}
