package engine

import (
	"github.com/taskerhq/tasker/internal/task"
)

// How a unit of work sees leases that the dispatcher granted: a step that comes
// in hand as ready, and is held there, is made what it really is. If the verb
// changes it, its row tells so; if not, nothing is written.

// dispatchedLeases is how a unit sees leases that the dispatcher granted; empty without a dispatcher.
type dispatchedLeases struct {
	u *unit

	cacheEpoch int64                   // of the cache of submitted steps when the transaction began
	holds      map[task.ID]Hold        // those that were asked for
	offered    map[*task.Step]Offered  // steps that were ready when they were loaded
	applied    map[*task.Step]struct{} // those of them that a worker holds
	newOffers  []Work                  // the dispatcher has to offer them
	removals   []Removal               // the dispatcher has to take them out
}

// offeredAs is how a ready step is offered.
func offeredAs(s *task.Step) Offered {
	return Offered{Step: s.ID, Route: s.RouteID, Key: s.Key, Timeout: s.Timeout, Token: s.Token, Priority: s.Priority}
}

// ends reports whether a hold is over with the removal.
func (r Removal) ends(h Hold) bool { return h.Token <= r.Token || r.Left && h.Key == r.Key }

func (h Hold) lease() task.Holding {
	return task.Holding{Worker: h.Worker, Token: h.Token, AssignedAt: h.AssignedAt, StartedAt: h.StartedAt, Until: h.Until,
		Progress: h.Progress, Note: h.Note}
}

func (dl *dispatchedLeases) putHold(id task.ID, h Hold) {
	if dl.holds == nil {
		dl.holds = map[task.ID]Hold{}
	}
	dl.holds[id] = h
}

// noteOffer notes how a step that comes in hand was offered, and adopts the lease
// on it if there is one.
func (dl *dispatchedLeases) noteOffer(s *task.Step) {
	if s.State != task.StepEnqueued || !dl.u.e.queue.leasesElsewhere() {
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

// apply makes a ready step what it is under a lease.
func (dl *dispatchedLeases) apply(s *task.Step, h task.Holding) {
	if s.Adopt(h) != nil {
		return // it stays what it is
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

// inForce reports whether a lease is in force, and adopts one that only its holder
// remembers: the dispatcher has lost it, and nobody has got the step since. It is the
// holder's if the engine has read it from a token; see Engine.LeaseOf.
func (dl *dispatchedLeases) inForce(s *task.Step, ref LeaseRef) bool {
	if s.HeldUnder(ref.Token) {
		// After rows were lost, numbers that are counted come up again.
		again := ref.At != 0 && task.CountedToken(ref.Token) && s.AssignedAt != ref.At
		return !again && (ref.Worker == 0 || ref.Worker == s.WorkerNo)
	}
	if !dl.u.e.queue.leasesElsewhere() || s.State != task.StepEnqueued || ref.Token <= s.Token ||
		!task.TimeToken(ref.Token, dl.u.now) {
		return false
	}
	if _, ready := dl.offered[s]; !ready {
		return false // it has become ready in this transaction
	}
	dl.u.e.coordinator.noteServed() // the lease is this process's business from now on
	at := task.Instant(ref.Token)
	dl.apply(s, task.Holding{Worker: ref.Worker, Token: ref.Token, AssignedAt: at, StartedAt: at,
		Until: dl.u.now.Add(dl.u.e.cfg.Leases.Lease())})
	return s.HeldUnder(ref.Token)
}

// dispatchUpdate is what the dispatcher has to hear of the transaction.
func (dl *dispatchedLeases) dispatchUpdate() dispatchUpdate {
	f := dispatchUpdate{queued: dl.u.wake.queued}
	for s, as := range dl.offered {
		_, adopted := dl.applied[s]
		_, dirty := dl.u.rows.dirtySteps[s]
		if adopted && !dirty {
			continue // it was only looked at
		}
		if adopted || s.State != task.StepEnqueued || s.Key != as.Key || s.Token != as.Token {
			as.Token = max(as.Token, s.Token) // whoever holds it there has lost it
			f.gone = append(f.gone, Removal{Offered: as, Left: s.State != task.StepEnqueued})
		}
	}
	for _, w := range dl.newOffers {
		if w.Step.State == task.StepEnqueued {
			f.fresh = append(f.fresh, offeredAs(w.Step))
		}
	}
	return f
}
