package kernel

import (
	"context"
	"math"

	"github.com/taskerhq/tasker/internal/model/task"
)

// While the dispatcher is not in use, each method of queue does the same as storeQueue.

// begin stores leases that only this process and a failed dispatcher have, else the store would hand out their steps.
func (g *dispatchQueue) begin(ctx context.Context, wait bool) error {
	if err := g.storeQueue.begin(ctx, wait); err != nil {
		return err
	}
	if g.e.coordinator == nil && g.mustPersist() {
		if _, err := g.persists.Do(ctx, struct{}{}); err != nil {
			return err
		}
	}
	if wait && g.on() {
		g.flush() // a claim sees everything done before it
	}
	return nil
}

func (g *dispatchQueue) phase() claimPhase {
	return claimPhase{inStore: !g.on(), epoch: g.e.coordinator.epoch()}
}

func (g *dispatchQueue) claim(calls []*poller) ([][]Lease, error) {
	return g.e.coordinator.claim(calls, func(from handOutFrom) ([][]Lease, error) {
		switch {
		case from == fromDispatch, from == fromAnywhere && g.on():
			return g.claimThere(calls)
		case from == fromAnywhere && g.mustPersist():
			return make([][]Lease, len(calls)), nil // it was the queue until now; the pollers try again
		}
		return g.e.claimStored(calls)
	})
}

func (g *dispatchQueue) renew(verb string, calls []leaseCall,
	stored func([]leaseCall) ([][]LeaseAnswer, error),
) ([][]LeaseAnswer, error) {
	if !g.on() {
		return stored(calls)
	}
	if g.e.coordinator != nil {
		p, ok := g.e.coordinator.gate.enterDispatch()
		if !ok {
			return stored(calls)
		}
		defer p.leave() // remembered leases are stored when the permit has been left
	}
	return g.renewThere(verb, calls, stored)
}

func (g *dispatchQueue) leasesElsewhere() bool { return true }

func (g *dispatchQueue) depth(ctx context.Context, route, key int64, id task.ID, limit int) (int, error) {
	n, ok, err := ask(ctx, g, func(d Dispatcher) (int, error) { return d.Depth(ctx, route, key, id) })
	if ok || err != nil {
		return min(n, limit), err
	}
	return g.storeQueue.depth(ctx, route, key, id, limit)
}

func (g *dispatchQueue) ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error) {
	n, ok, err := ask(ctx, g, func(d Dispatcher) (total int, err error) {
		for _, r := range routes {
			n, err := d.Depth(ctx, r, key, id)
			if total += n; err != nil || total >= limit {
				return total, err
			}
		}
		return total, nil
	})
	if ok || err != nil {
		return min(n, limit), err
	}
	return g.storeQueue.ahead(ctx, routes, key, id, limit)
}

func (g *dispatchQueue) ReadyCounts(ctx context.Context, limit int) (map[int64]int, error) {
	if !g.on() {
		return g.storeQueue.ReadyCounts(ctx, limit)
	}
	routes, err := g.e.Store.Routes(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(routes))
	for i, r := range routes {
		ids[i] = r.ID
	}
	counts, ok, err := ask(ctx, g, func(d Dispatcher) (map[int64]int, error) { return d.Waiting(ctx, ids) })
	if ok || err != nil {
		return counts, err
	}
	return g.storeQueue.ReadyCounts(ctx, limit)
}

func (g *dispatchQueue) readyOn(ctx context.Context, routes []int64) (map[int64]int, error) {
	ready, ok, err := ask(ctx, g, func(d Dispatcher) (map[int64]int, error) { return d.Waiting(ctx, routes) })
	if ok || err != nil {
		return ready, err
	}
	return g.storeQueue.readyOn(ctx, routes)
}

// held returns nil while the dispatcher is not used.
func (g *dispatchQueue) held(ctx context.Context) (map[int64]int, error) {
	there, _, err := ask(ctx, g, func(d Dispatcher) (map[int64]int, error) { return d.Held(ctx) })
	return there, err
}

func (g *dispatchQueue) Holds(ctx context.Context, limit int) ([]Hold, error) {
	holds, _, err := ask(ctx, g, func(d Dispatcher) ([]Hold, error) {
		return d.Expired(ctx, task.Instant(math.MaxInt64), limit)
	})
	return holds, err // after a failure they are stored soon
}

// Show leaves steps unchanged if the dispatcher fails.
func (g *dispatchQueue) Show(ctx context.Context, steps []*task.Step) {
	if !g.on() {
		return
	}
	var ready []*task.Step
	var ids []task.ID
	for _, s := range steps {
		if s.OnRoute() {
			ready, ids = append(ready, s), append(ids, s.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	for i, h := range g.findHolds(ctx, ids) {
		if s := ready[i]; h.Token > s.Token {
			_ = s.Adopt(h.lease()) // else it keeps its state in the store
		}
	}
}

// attach records the epoch of the cache: rows read before the cache was emptied must not enter it.
func (g *dispatchQueue) attach(u *Unit) { u.leases.cacheEpoch = g.submitted.epoch.Load() }

// handsOut allows a hand-off in a transaction only while the store is the queue.
func (g *dispatchQueue) handsOut() (permit, bool) {
	if g.e.coordinator == nil {
		return permit{}, !g.on() && !g.mustPersist()
	}
	return g.storeQueue.handsOut()
}

func (g *dispatchQueue) becameReady(u *Unit, w Work) {
	u.leases.newOffers = append(u.leases.newOffers, w)
}

// rekeyed moves a step in the dispatcher, unless a worker holds it.
func (g *dispatchQueue) rekeyed(u *Unit, s *task.Step, was int64) {
	as := offeredAs(s)
	as.Key = was
	u.leases.removals = append(u.leases.removals, Removal{Offered: as})
	u.leases.newOffers = append(u.leases.newOffers, Work{Step: s})
}

func (g *dispatchQueue) loadHolds(u *Unit, works []Work) {
	dl := &u.leases
	var unknown []task.ID
	for _, w := range works {
		if w.Step == nil || !w.Step.OnRoute() || u.Rows.Steps[w.Step.ID] != nil {
			continue
		}
		if _, known := dl.holds[w.Step.ID]; known {
			continue
		}
		// another process may have begun an attempt that this one remembers as assigned
		if h, ok := g.leaseOf(w.Step.ID); ok && h.Until > u.Now && (h.StartedAt != 0 || !g.on()) {
			dl.putHold(w.Step.ID, h)
			continue
		}
		unknown = append(unknown, w.Step.ID)
	}
	if len(unknown) == 0 || !g.on() {
		return
	}
	for i, h := range g.findHolds(context.Background(), unknown) {
		dl.putHold(unknown[i], h)
	}
}

// committed wakes waiters once the new steps can be claimed.
func (g *dispatchQueue) committed(u *Unit) {
	f := u.leases.dispatchUpdate()
	f.gone = append(f.gone, u.leases.removals...)
	if !g.reachable.Load() {
		g.addMissed(f.gone)
		g.storeQueue.committed(u)
		return
	}
	if g.on() {
		g.cacheSubmitted(u)
		u.Wake.queued = nil // woken once the steps can be claimed
		g.e.waiters.publish(u)
	} else { // woken twice, because by then steps may be claimed from either place
		g.storeQueue.committed(u)
	}
	if len(f.gone)+len(f.fresh)+len(f.queued) > 0 {
		g.outbox.Post(f)
	}
}

func (g *dispatchQueue) cacheSubmitted(u *Unit) {
	s, dl := g.submitted, &u.leases
	s.forget(u.Rows.DirtyTasks)
	for _, w := range dl.newOffers {
		if w.Task == nil {
			continue // not new: it got another key
		}
		if _, stored := u.Rows.Tasks[w.Task.ID]; !stored && w.Step.OnRoute() {
			s.put(w, dl.cacheEpoch)
		}
	}
}

func (g *dispatchQueue) forget() { g.submitted.clear() }
