package engine

import (
	"github.com/taskerhq/tasker/internal/model/task"
)

// A unit of work corrects steps that the dispatcher has leased: a step that is loaded as ready, and is leased there,
// gets the state and the lease that it really has. If the verb changes the step, its row is saved with them; if not,
// nothing is written.

// dispatchedLeases holds the leases that the dispatcher granted on steps of a unit; empty without a dispatcher.
type dispatchedLeases struct {
	u *unit

	cacheEpoch int64                   // epoch of the submitted cache when the transaction began
	holds      map[task.ID]Hold        // holds that were read, by step
	offered    map[*task.Step]Offered  // steps that were ready when they were loaded
	applied    map[*task.Step]struct{} // those of them that a worker holds
	newOffers  []Work                  // to be offered by the dispatcher
	removals   []Removal               // to be removed from the dispatcher
}

// offeredAs returns the offer of a ready step.
func offeredAs(s *task.Step) Offered {
	return Offered{Step: s.ID, Route: s.RouteID, Key: s.Key, Timeout: s.Timeout, Token: s.Token, Priority: s.Priority}
}

// ends reports whether the removal ends a hold.
func (r Removal) ends(h Hold) bool { return h.Token <= r.Token || r.Left && h.Key == r.Key }

// lease is the hold in the form in which a step adopts it.
func (h Hold) lease() task.Holding {
	return task.Holding{Worker: h.Worker, Token: h.Token, AssignedAt: h.AssignedAt, StartedAt: h.StartedAt, Until: h.Until,
		Progress: h.Progress, Note: h.Note}
}

// putHold remembers a hold; the zero Hold for a step that is known not to be held.
func (dl *dispatchedLeases) putHold(id task.ID, h Hold) {
	if dl.holds == nil {
		dl.holds = map[task.ID]Hold{}
	}
	dl.holds[id] = h
}

// noteOffer records how a loaded step was offered, and adopts the lease on it if there is one.
func (dl *dispatchedLeases) noteOffer(s *task.Step) {
	if !s.OnRoute() || !dl.u.e.queue.leasesElsewhere() {
		return
	}
	if dl.offered == nil {
		dl.offered = map[*task.Step]Offered{}
	}
	dl.offered[s] = offeredAs(s)
	if h := dl.holds[s.ID]; h.Token > s.Token {
		dl.apply(s, h.lease())
	}
}

// apply gives a ready step its state under a lease.
func (dl *dispatchedLeases) apply(s *task.Step, h task.Holding) {
	if s.Adopt(h) != nil {
		return // the step stays ready
	}
	dl.u.notBefore(max(s.AssignedAt, s.StartedAt))
	as := dl.offered[s]
	as.Token = h.Token
	dl.offered[s] = as
	if dl.applied == nil {
		dl.applied = map[*task.Step]struct{}{}
	}
	dl.applied[s] = struct{}{}
}

// inForce reports whether a lease is in force, and adopts one that only its holder remembers: the dispatcher has lost
// it, and no worker has received the step since. The lease belongs to the holder if the engine has read it from a
// token; see Engine.LeaseOf.
func (dl *dispatchedLeases) inForce(s *task.Step, ref LeaseRef) bool {
	if s.HeldUnder(ref.Token) {
		// After rows were lost, counted numbers are given out again.
		again := ref.At != 0 && task.CountedToken(ref.Token) && s.AssignedAt != ref.At
		return !again && (ref.Worker == 0 || ref.Worker == s.WorkerNo)
	}
	if !dl.u.e.queue.leasesElsewhere() || !s.OnRoute() || ref.Token <= s.Token ||
		!task.TimeToken(ref.Token, dl.u.now) {
		return false
	}
	if _, ready := dl.offered[s]; !ready {
		return false // it has become ready in this transaction
	}
	dl.u.e.coordinator.noteServed() // this process serves the lease from now on
	at := task.Instant(ref.Token)
	dl.apply(s, task.Holding{Worker: ref.Worker, Token: ref.Token, AssignedAt: at, StartedAt: at,
		Until: dl.u.now.Add(dl.u.e.cfg.Leases.Lease())})
	return s.HeldUnder(ref.Token)
}

// dispatchUpdate returns the changes of the transaction for the dispatcher.
func (dl *dispatchedLeases) dispatchUpdate() dispatchUpdate {
	f := dispatchUpdate{queued: dl.u.wake.queued}
	for s, as := range dl.offered {
		_, adopted := dl.applied[s]
		_, dirty := dl.u.rows.dirtySteps[s]
		if adopted && !dirty {
			continue // it was only read
		}
		if adopted || !s.OnRoute() || s.Key != as.Key || s.Token != as.Token {
			as.Token = max(as.Token, s.Token) // its holder in the dispatcher has lost it
			f.gone = append(f.gone, Removal{Offered: as, Left: !s.OnRoute()})
		}
	}
	for _, w := range dl.newOffers {
		if w.Step.OnRoute() {
			f.fresh = append(f.fresh, offeredAs(w.Step))
		}
	}
	return f
}
