package kernel

import (
	"github.com/taskerhq/tasker/internal/model/task"
)

// A unit corrects steps that the dispatcher has leased: a step loaded as ready gets its real state and lease, saved
// only with other changes.

type dispatchedLeases struct {
	u *Unit

	cacheEpoch int64                   // epoch when the transaction began
	holds      map[task.ID]Hold        // by step
	offered    map[*task.Step]Offered  // steps ready when loaded
	applied    map[*task.Step]struct{} // of those, steps held by a worker
	newOffers  []Work
	removals   []Removal
}

func offeredAs(s *task.Step) Offered {
	return Offered{Step: s.ID, Route: s.RouteID, Key: s.Key, Timeout: s.Timeout, Token: s.Token, Priority: s.Priority}
}

func (r Removal) ends(h Hold) bool { return h.Token <= r.Token || r.Left && h.Key == r.Key }

func (h Hold) lease() task.Holding {
	return task.Holding{Worker: h.Worker, Token: h.Token, AssignedAt: h.AssignedAt, StartedAt: h.StartedAt, Until: h.Until,
		Progress: h.Progress, Note: h.Note}
}

// The zero Hold marks a step as not held.
func (dl *dispatchedLeases) putHold(id task.ID, h Hold) {
	if dl.holds == nil {
		dl.holds = map[task.ID]Hold{}
	}
	dl.holds[id] = h
}

// noteOffer records how a step was offered, and adopts its lease.
func (dl *dispatchedLeases) noteOffer(s *task.Step) {
	if !s.OnRoute() || !dl.u.E.Queue.leasesElsewhere() {
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

func (dl *dispatchedLeases) apply(s *task.Step, h task.Holding) {
	if s.Adopt(h) != nil {
		return
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

// inForce also adopts a lease that only its holder has: the dispatcher lost it, and no worker received the step
// since. A token proves the holder; see Engine.LeaseOf.
func (dl *dispatchedLeases) inForce(s *task.Step, ref LeaseRef) bool {
	if s.HeldUnder(ref.Token) {
		// Lost rows lead to repeated counted numbers.
		again := ref.At != 0 && task.CountedToken(ref.Token) && s.AssignedAt != ref.At
		return !again && (ref.Worker == 0 || ref.Worker == s.WorkerNo)
	}
	if !dl.u.E.Queue.leasesElsewhere() || !s.OnRoute() || ref.Token <= s.Token ||
		!task.TimeToken(ref.Token, dl.u.Now) {
		return false
	}
	if _, ready := dl.offered[s]; !ready {
		return false // ready since this transaction
	}
	dl.u.E.coordinator.noteServed() // this process serves the lease now
	at := task.Instant(ref.Token)
	dl.apply(s, task.Holding{Worker: ref.Worker, Token: ref.Token, AssignedAt: at, StartedAt: at,
		Until: dl.u.Now.Add(dl.u.E.Cfg.Leases.Lease())})
	return s.HeldUnder(ref.Token)
}

func (dl *dispatchedLeases) dispatchUpdate() dispatchUpdate {
	f := dispatchUpdate{queued: dl.u.Wake.queued}
	for s, as := range dl.offered {
		_, adopted := dl.applied[s]
		_, dirty := dl.u.Rows.dirtySteps[s]
		if adopted && !dirty {
			continue // only read
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
