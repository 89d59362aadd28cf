package kernel

import "context"

// splitClaim claims steps for half of a poll's capacity while the other half waits for steps that become ready.
// Otherwise a poll that always claims never waits, and every step costs a claim.
//
// It does not split a poll that claims one step, was woken for more than half of its capacity, or serves too many
// routes to track. Nor on routes too deep to empty, where new steps must not overtake. It returns at most p.capacity
// leases in total.
func (e *Kernel) splitClaim(ctx context.Context, p *poller) ([]Lease, error) {
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
	<-aside.wake // a transaction holds it for a moment
	switch {
	case len(aside.handed) > 0:
		return append(leases, aside.handed...), nil // the next poll gets the error too
	case err != nil || len(leases) > 0:
		e.waiters.forwardWake(&aside)
	default:
		p.owedRoute, p.owed = aside.owedRoute, aside.owed
	}
	return leases, err
}

// waitDuringClaim lets a poller wait during its own claim, and records the routes that this is about to empty. It
// reports false without any.
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

// leaveDuringClaim reports false when the poller was woken, or a transaction holds it.
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

func (ws *waiters) isEmptying(route int64) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.emptying[route] > 0
}

// A full claim may have left steps on its routes; noteDepths records those, and the emptied ones.
func (ws *waiters) noteDepths(groups [][]slot, out [][]Lease) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, g := range groups {
		if g[0].wide() {
			continue // no poll waits during claims
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

func (ws *waiters) dropRoutes(routes []int64) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, r := range routes {
		delete(ws.deep, r)
	}
}
