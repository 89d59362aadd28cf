package engine

import (
	"context"
	"sync"

	"github.com/taskerhq/tasker/internal/model/task"
)

// gate permits the handing out of steps while this process may do so, and waits for the steps
// being handed out when it no longer may. See terms.go. It is safe for concurrent use, and
// holds mu for moments only: entering and leaving are on the path of every claim.
type gate struct {
	mu      sync.Mutex
	at      handOutFrom
	epoch   int64        // grows whenever it opens or shuts
	until   task.Instant // nothing is handed out from then on
	permits int          // permits given out and not returned
	idle    chan struct{}
	opened  chan struct{} // closed when it opens
}

// handOutFrom is where ready steps are handed out. The zero value is a shut gate.
type handOutFrom int

const (
	fromNowhere  handOutFrom = iota
	fromAnywhere             // where no other process works on the store: there is no gate
	fromStore
	fromDispatch
)

// newGate returns a gate that is shut.
func newGate() *gate { return &gate{opened: make(chan struct{})} }

// permit is the right to hand out steps from one place, until leave. The zero permit belongs to
// no gate, and leave does nothing for it.
type permit struct {
	g     *gate
	at    handOutFrom
	epoch int64
}

// enter returns a permit; ok is false while nothing may be handed out.
func (g *gate) enter(now task.Instant) (p permit, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == fromNowhere || now >= g.until {
		return permit{}, false
	}
	g.permits++
	return permit{g, g.at, g.epoch}, true
}

// enterDispatch returns a permit for leases that the dispatcher keeps. It remains possible while this process may hand
// out nothing new.
func (g *gate) enterDispatch() (p permit, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at != fromDispatch {
		return permit{}, false
	}
	g.permits++
	return permit{g, g.at, g.epoch}, true
}

// leave returns the permit.
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

// isValid reports whether the same permit would be given out again.
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

// open permits the handing out of steps from a place. It reports whether it was not permitted before.
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

// extend prolongs the permission to hand out steps, if the gate is open.
func (g *gate) extend(until task.Instant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = until
}

// shut stops handing out. Permits that were given out stay.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at != fromNowhere {
		g.epoch++
		g.at, g.opened = fromNowhere, make(chan struct{})
	}
}

// drained waits until all permits are returned. The caller shuts the gate first, so that no new
// permits keep it waiting.
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

// opening returns a channel that is closed when the gate opens.
func (g *gate) opening() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened
}

// openEpoch identifies the period in which steps are handed out; 0 while none are.
func (g *gate) openEpoch(now task.Instant) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == fromNowhere || now >= g.until {
		return 0
	}
	return g.epoch
}
