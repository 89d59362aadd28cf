package engine

import (
	"context"
	"sync"

	"github.com/taskerhq/tasker/internal/task"
)

// gate lets steps be handed out while this process may do that, and waits for those
// that are being handed out when it may not any more. See terms.
type gate struct {
	mu     sync.Mutex
	at     outlet
	stint  int64        // grows whenever it opens or shuts
	until  task.Instant // nothing is handed out from then on
	under  int          // passes that are out
	quiet  chan struct{}
	opened chan struct{} // closed when it opens
}

// outlet is where ready steps are handed out.
type outlet int

const (
	nowhere outlet = iota
	inStore
	inDispatcher
)

func newGate() *gate { return &gate{opened: make(chan struct{})} }

// pass is the right to hand out steps in one place, until it is left.
type pass struct {
	g     *gate
	at    outlet
	stint int64
}

// enter returns a pass; ok is false while nothing may be handed out.
func (g *gate) enter(now task.Instant) (p pass, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == nowhere || now >= g.until {
		return pass{}, false
	}
	g.under++
	return pass{g, g.at, g.stint}, true
}

// enterThere returns a pass for leases that the dispatcher keeps, which go on while this
// process may hand out nothing new.
func (g *gate) enterThere() (p pass, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at != inDispatcher {
		return pass{}, false
	}
	g.under++
	return pass{g, g.at, g.stint}, true
}

// leave gives the pass back.
func (p pass) leave() {
	g := p.g
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.under--; g.under == 0 && g.quiet != nil {
		close(g.quiet)
		g.quiet = nil
	}
}

// good reports whether the pass would be given out again.
func (p pass) good(now task.Instant) bool {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	return p.g.at == p.at && p.g.stint == p.stint && now < p.g.until
}

// is reports whether steps may be handed out.
func (g *gate) is(now task.Instant) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at != nowhere && now < g.until
}

// open lets steps be handed out in a place. It reports whether they were not before.
func (g *gate) open(to outlet, until task.Instant) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = until
	if g.at == to {
		return false
	}
	g.at = to
	g.stint++
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
	if g.at != nowhere {
		g.stint++
		g.at, g.opened = nowhere, make(chan struct{})
	}
}

// drained waits until no pass is out.
func (g *gate) drained(ctx context.Context) error {
	g.mu.Lock()
	if g.under == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.quiet == nil {
		g.quiet = make(chan struct{})
	}
	quiet := g.quiet
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

// running tells the times apart in which steps are handed out; 0 while none are.
func (g *gate) running(now task.Instant) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == nowhere || now >= g.until {
		return 0
	}
	return g.stint
}
