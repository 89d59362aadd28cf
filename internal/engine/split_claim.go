package engine

import "context"

// splitClaim claims steps for half of a poll's capacity while the other half waits aside: steps that become ready in
// the meantime are handed to it. Without the split, a poll that is always busy with a claim never waits; then every
// step goes through the queue and costs a claim.
//
// A poll is not split if it claims a single step, was woken for more than half of its capacity,
// or serves so many routes that tracking them costs more than the split saves. Nor is it split
// on routes that are too deep for a claim to empty: there new steps must not overtake waiting
// ones. It returns at most p.capacity leases, from both halves together.
func (e *Engine) splitClaim(ctx context.Context, p *poller) ([]Lease, error) {
	half, aside := *p, *p
	aside.capacity = min(p.capacity/2, p.capacity-p.owed)
	half.capacity -= aside.capacity
	if aside.capacity == 0 || p.wide() || !e.waiters.waitDuringClaim(&aside) {
		return e.claims.Do(ctx, p)
	}
	leases, err := e.claims.Do(ctx, &half)
	p.onlyParked = half.onlyParked
	if e.waiters.leaveDuringClaim(&aside) {
		return leases, err
	}
	<-aside.wake // a transaction holds it; that ends in a moment
	switch {
	case len(aside.handed) > 0:
		return append(leases, aside.handed...), nil // the next poll receives the error too
	case err != nil || len(leases) > 0:
		e.waiters.forwardWake(&aside)
	default: // the poll tries again
		p.owedRoute, p.owed = aside.owedRoute, aside.owed
	}
	return leases, err
}

// waitDuringClaim lets a poller wait while a claim for the same poll is under way, and records that the claim is about
// to empty its routes. It reports false if the claim is not expected to empty one of them.
func (ws *waiters) waitDuringClaim(p *poller) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.deep) > 0 {
		for _, r := range p.routes {
			if _, deep := ws.deep[r]; deep {
				return false
			}
		}
	}
	for _, r := range p.routes {
		ws.emptying[r]++
	}
	ws.enqueue(p)
	return true
}

// leaveDuringClaim ends that wait. It reports false when the poller was no longer waiting: it was woken, or a
// transaction holds it.
func (ws *waiters) leaveDuringClaim(p *poller) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, r := range p.routes {
		if ws.emptying[r]--; ws.emptying[r] == 0 {
			delete(ws.emptying, r)
		}
	}
	return ws.remove(p)
}

// isEmptying reports whether a claim is about to take all ready steps of a route.
func (ws *waiters) isEmptying(route int64) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.emptying[route] > 0
}

// noteDepths records the routes on which a claim may have left steps, because its capacity was filled, and those that
// it has emptied.
func (ws *waiters) noteDepths(groups [][]slot, out [][]Lease) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, g := range groups {
		if g[0].wide() {
			continue // no poll waits beside its claims
		}
		room := 0
		for _, s := range g {
			room += s.capacity - len(out[s.at])
		}
		for _, r := range g[0].routes {
			if room > 0 {
				delete(ws.deep, r)
			} else {
				ws.deep[r] = struct{}{}
			}
		}
	}
}

// dropRoutes removes the recorded depths of routes that the catalog no longer has.
func (ws *waiters) dropRoutes(routes []int64) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, r := range routes {
		delete(ws.deep, r)
	}
}
