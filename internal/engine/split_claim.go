package engine

import "context"

// splitClaim claims for half of a poll's capacity while the other half, aside,
// waits: what becomes ready meanwhile is handed to it. Without that a poll that is
// always busy claiming what the last moment brought never waits, everything goes
// through the queue, and each step costs a claim.
//
// Nothing waits beside a claim for a single step, for a poll that was woken for
// more than half, for one that serves so many routes that noting them costs more than
// it saves, and on routes that are too deep for a claim to empty them: there
// what is new must not overtake what has waited.
func (e *Engine) splitClaim(ctx context.Context, p *poller) ([]Lease, error) {
	half, aside := *p, *p
	aside.capacity = min(p.capacity/2, p.capacity-p.owed)
	half.capacity -= aside.capacity
	if aside.capacity == 0 || p.wide() || !e.waiters.waitDuringClaim(&aside) {
		return e.claims.Do(ctx, p)
	}
	leases, err := e.claims.Do(ctx, &half)
	if e.waiters.leaveDuringClaim(&aside) {
		return leases, err
	}
	<-aside.wake // a transaction has it in hand; it is over in a moment
	switch {
	case len(aside.handed) > 0:
		return append(leases, aside.handed...), nil // the next poll meets the error too
	case err != nil || len(leases) > 0:
		e.waiters.forwardWake(&aside)
	default: // the poll looks again
		p.owedRoute, p.owed = aside.owedRoute, aside.owed
	}
	return leases, err
}

// waitDuringClaim lets a poller wait while a claim for the same poll is under way, and
// notes that the claim is about to empty its routes. It reports false when that is
// not to be expected of one of them.
func (h *waiters) waitDuringClaim(p *poller) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.deep) > 0 {
		for _, r := range p.routes {
			if _, deep := h.deep[r]; deep {
				return false
			}
		}
	}
	for _, r := range p.routes {
		h.emptying[r]++
	}
	h.enqueue(p)
	return true
}

// leaveDuringClaim ends that. It reports false when the poller was not waiting any
// more: it has been woken, or a transaction has it in hand.
func (h *waiters) leaveDuringClaim(p *poller) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range p.routes {
		if h.emptying[r]--; h.emptying[r] == 0 {
			delete(h.emptying, r)
		}
	}
	return h.remove(p)
}

// isEmptying reports whether a claim is about to take all that is ready on a route.
func (h *waiters) isEmptying(route int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.emptying[route] > 0
}

// noteDepths notes on which routes a claim may have left something behind, because
// it was filled to the brim, and which it has emptied.
func (h *waiters) noteDepths(groups [][]slot, out [][]Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range groups {
		if g[0].wide() {
			continue // nothing waits beside its claims
		}
		room := 0
		for _, s := range g {
			room += s.capacity - len(out[s.at])
		}
		for _, r := range g[0].routes {
			if room > 0 {
				delete(h.deep, r)
			} else {
				h.deep[r] = struct{}{}
			}
		}
	}
}

// dropRoutes forgets how deep routes are that the catalog no longer has.
func (h *waiters) dropRoutes(routes []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range routes {
		delete(h.deep, r)
	}
}
