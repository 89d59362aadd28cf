package kernel

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// maxClaimRounds bounds how often a claim repeats because its holds were out of date.
	maxClaimRounds = 5
	// maxStaleRounds bounds it while no poller has a step.
	maxStaleRounds = 100
)

// claimThere removes and replaces holds that are outdated because a settlement has not reached the dispatcher, in a
// bounded number of rounds. When the dispatcher fails, the store serves the pollers.
func (g *dispatchQueue) claimThere(calls []*poller) ([][]Lease, error) {
	out := make([][]Lease, len(calls))
	for n := 0; n < maxClaimRounds || n < maxStaleRounds && empty(out); n++ {
		most, err := g.e.passesLeft(calls)
		if err != nil {
			return nil, err
		}
		holds, err := g.claimHolds(calls, out, most)
		if err != nil {
			g.failOver(err)
			return out, nil // pollers without steps try the store
		}
		if holds == nil {
			return out, nil
		}
		dropped, failed, err := g.leaseHolds(calls, holds, out)
		switch {
		case err != nil && empty(out):
			return nil, err
		case err == nil && dropped == 0:
			return out, nil
		case err != nil || failed:
			n = maxStaleRounds // enough for one call
		}
	}
	for i, p := range calls {
		p.onlyParked = len(out[i]) == 0 // or settled: the next call continues
	}
	return out, nil
}

func empty(out [][]Lease) bool {
	return !slices.ContainsFunc(out, func(l []Lease) bool { return len(l) > 0 })
}

// claimHolds returns nil when no poller has capacity left. One token serves all holds of a round: it need only exceed
// earlier ones of each step.
func (g *dispatchQueue) claimHolds(calls []*poller, out [][]Lease, most map[int64]int) ([][]Hold, error) {
	now := g.e.Now()
	token := g.e.nextToken(now)
	claims := make([]Claim, len(calls))
	for i, p := range calls {
		claims[i] = Claim{Worker: p.worker, Routes: g.e.Catalog.passable(p.routes, now), Most: most,
			Capacity: p.capacity - len(out[i]), Start: p.start,
			Token:  token,
			Window: g.e.Cfg.Scheduling.FairnessWindow,
			Until:  now.Add(g.e.Cfg.Leases.StartTimeout)}
		if p.start {
			claims[i].Until = now.Add(g.e.Cfg.Leases.Lease())
		}
	}
	holds, err := g.d.Claim(context.Background(), claims, now)
	if err != nil {
		return nil, err
	}
	some := false
	for _, list := range holds {
		some = some || len(list) > 0
		g.remember(list, now)
	}
	if !some {
		return nil, nil
	}
	return holds, nil
}

// taken.lease is nil if the step is not ready in the store, or failed. done: the store has decided on the hold.
type taken struct {
	Hold
	lease *Lease
	done  bool
}

// leaseHolds returns how many steps are not ready in the store, and whether some failed. After an error it has
// returned the holds that are not leased.
func (g *dispatchQueue) leaseHolds(calls []*poller, holds [][]Hold, out [][]Lease) (dropped int, failed bool,
	err error,
) {
	lists := make([][]taken, len(holds))
	for i, list := range holds {
		lists[i] = make([]taken, len(list))
		for j, h := range list {
			lists[i][j].Hold = h
		}
	}
	if rest := g.leaseFromCache(calls, lists); rest > 0 {
		failed, err = g.leaseFromStore(calls, lists, rest)
	}
	for i, list := range lists {
		for _, t := range list {
			if t.lease == nil {
				dropped++
				continue
			}
			out[i] = append(out[i], *t.lease)
		}
	}
	return dropped, failed, err
}

// leaseFromCache makes leases of just submitted steps without the store, and returns the number of the others. Its
// unit only observes.
func (g *dispatchQueue) leaseFromCache(calls []*poller, lists [][]taken) (rest int) {
	began, u := g.e.startObserving(), NewUnit(context.Background(), g.e, nil)
	for i, list := range lists {
		for j := range list {
			if calls[i].toQueue { // its lease is stored
				rest++
			} else if l, ok := g.leaseSubmitted(u, list[j].Hold, calls[i].start); ok {
				list[j].lease = &l
			} else {
				rest++
			}
		}
	}
	g.e.observeCommit("claim", began, u)
	return rest
}

// returnHolds keeps the keys and so the places of undelivered steps. If that fails, their leases run out.
func (g *dispatchQueue) returnHolds(holds [][]Hold) {
	f := dispatchUpdate{queued: map[int64]int{}}
	for _, list := range holds {
		for _, h := range list {
			f.gone, f.fresh = append(f.gone, Removal{Offered: h.Offered}), append(f.fresh, h.Offered)
			f.queued[h.Route]++
		}
	}
	g.outbox.Post(f)
}

// renewThere passes leases that the dispatcher does not have to stored. Answers are in a call's order, except for all
// leases.
func (g *dispatchQueue) renewThere(verb string, calls []leaseCall,
	stored func([]leaseCall) ([][]LeaseAnswer, error),
) ([][]LeaseAnswer, error) {
	refs, holds, err := g.renewHolds(verb == "start", calls)
	if err != nil {
		g.failOver(err)
		return stored(calls)
	}
	out := make([][]LeaseAnswer, len(calls))
	var rest []leaseCall
	var places [][]int // of the refs of rest among the answers of their call
	var whose []int
	for i, c := range calls {
		out[i] = make([]LeaseAnswer, len(refs[i]))
		left, at := leaseCall{all: c.all, progress: c.progress}, []int(nil)
		for j, ref := range refs[i] {
			if h := holds[i][j]; h.Token == ref.Token && h.Token != 0 {
				out[i][j] = heldAnswer(h)
				continue
			}
			left.refs, at = append(left.refs, ref), append(at, j)
		}
		if len(left.refs) > 0 || c.all != 0 {
			rest, places, whose = append(rest, left), append(places, at), append(whose, i)
		}
	}
	if len(rest) == 0 {
		return out, nil
	}
	answers, err := stored(rest)
	if err != nil {
		return nil, err
	}
	for n, list := range answers {
		i := whose[n]
		if calls[i].all != 0 {
			out[i] = append(out[i], list...)
			continue
		}
		for k, a := range list {
			out[i][places[n][k]] = a
		}
	}
	return out, nil
}

func (g *dispatchQueue) renewHolds(start bool, calls []leaseCall) (refs [][]LeaseRef, holds [][]Hold, err error) {
	g.flush() // an ended lease must not be renewed
	ctx, now := context.Background(), g.e.Now()
	until := now.Add(g.e.Cfg.Leases.Lease())
	refs, holds = make([][]LeaseRef, len(calls)), make([][]Hold, len(calls))
	var all []LeaseRef
	var renewals []Renewal
	for i, c := range calls {
		refs[i] = c.refs
		if c.all != 0 {
			mine, err := g.d.HeldBy(ctx, c.all, maxHeld)
			if err != nil {
				return nil, nil, err
			}
			for _, h := range mine {
				refs[i] = append(refs[i], LeaseRef{Step: h.Step, Token: h.Token, Worker: h.Worker})
			}
		}
		all = append(all, refs[i]...)
		for _, r := range refs[i] {
			renewals = append(renewals, Renewal{r, c.progress})
		}
	}
	if len(all) == 0 {
		return refs, holds, nil
	}
	var found []Hold
	if start {
		found, err = g.d.Start(ctx, all, now, until)
	} else {
		found, err = g.d.Renew(ctx, renewals, until)
	}
	if err != nil {
		return nil, nil, err
	}
	g.remember(found, now)
	if start {
		g.observeStarted(found, now)
	}
	for i := range calls {
		holds[i], found = found[:len(refs[i])], found[len(refs[i]):]
	}
	return refs, holds, nil
}

func heldAnswer(h Hold) LeaseAnswer {
	a := LeaseAnswer{Step: h.Step, Status: Held, LeaseUntil: h.Until}
	if h.StartedAt != 0 && h.Timeout > 0 {
		a.DeadlineAt = h.StartedAt.Add(h.Timeout)
	}
	return a
}

// observeStarted reports starts from here, because the store learns of them too late.
func (g *dispatchQueue) observeStarted(holds []Hold, now task.Instant) {
	if g.e.Observer == nil {
		return
	}
	began, u := g.e.startObserving(), NewUnit(context.Background(), g.e, nil)
	for _, h := range holds {
		if h.Token != 0 && h.StartedAt == now {
			u.Observed.started(&task.Step{ID: h.Step, RouteID: h.Route, Token: h.Token, StartedAt: h.StartedAt})
			u.Observed.holdStarted(&h)
		}
	}
	g.e.observeCommit("start", began, u)
}

func (g *dispatchQueue) heldBy(ctx context.Context, worker int64) ([]task.ID, error) {
	holds, ok, err := ask(ctx, g, func(d Dispatcher) ([]Hold, error) { return d.HeldBy(ctx, worker, maxHeld) })
	if !ok || err != nil {
		return nil, err // after a failure they are stored soon, or their leases run out
	}
	ids := make([]task.ID, len(holds))
	for i, h := range holds {
		ids[i] = h.Step
	}
	return ids, nil
}

// ReapDispatched ends leases that ran out in the dispatcher, and returns how many it looked at. It does nothing while
// the store is the queue. Concurrent calls only repeat work.
func (e *Kernel) ReapDispatched(ctx context.Context, limit int) (int, error) {
	if !e.dispatch.on() {
		return 0, nil
	}
	e.dispatch.flush() // send the removals of the last batch
	now, ok := e.Now(), true
	holds, err := e.due.holds.Read(now, limit, func(limit int) (list []Hold, err error) {
		list, ok, err = ask(ctx, e.dispatch, func(d Dispatcher) ([]Hold, error) {
			return d.Expired(ctx, e.Now(), limit)
		})
		return list, err
	})
	if !ok || err != nil {
		return 0, err
	}
	if holds, err = e.dispatch.extendLeases(ctx, holds); err != nil || len(holds) == 0 {
		return 0, err
	}
	return len(holds), e.due.holds.Try(ctx, now, holds, e.reapHolds)
}

func (e *Kernel) reapHolds(ctx context.Context, holds []Hold) error {
	ids, of := make([]task.ID, len(holds)), make(map[task.ID]Hold, len(holds))
	for i, h := range holds {
		ids[i], of[h.Step] = h.Step, h
	}
	return e.Write(ctx, "reap", func(u *Unit) error {
		u.leases.holds = of
		works, err := u.Rows.Load(ids)
		if err != nil {
			return err
		}
		var over []Work
		for i, w := range works {
			if _, adopted := u.leases.applied[w.Step]; w.Step == nil || !adopted {
				// it has ended, or is stored
				u.leases.removals = append(u.leases.removals, Removal{Offered: holds[i].Offered})
				continue
			}
			over = append(over, w)
		}
		return u.reapAll(over)
	})
}

// extendLeases renews leases that ran out while no process could receive heartbeats.
func (g *dispatchQueue) extendLeases(ctx context.Context, holds []Hold) ([]Hold, error) {
	now, grace := g.e.Now(), g.e.Grace()
	if now >= grace {
		return holds, nil
	}
	var over []Hold
	var renewals []Renewal
	for _, h := range holds {
		// A heartbeat would not have saved a step that was not started or is over its time-out.
		if late := h.Timeout > 0 && h.StartedAt.Add(h.Timeout) <= now; h.StartedAt == 0 || late {
			over = append(over, h)
			continue
		}
		renewals = append(renewals, Renewal{LeaseRef: LeaseRef{Step: h.Step, Token: h.Token, Worker: h.Worker}})
	}
	if len(renewals) == 0 {
		return over, nil
	}
	renewed, err := g.d.Renew(ctx, renewals, grace)
	if err != nil {
		return nil, g.fallBack(ctx, err)
	}
	g.remember(renewed, now)
	return over, nil
}
