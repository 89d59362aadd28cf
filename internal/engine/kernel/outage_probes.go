package kernel

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// A route with an open outage lets one probe through at a time. A poll reserves the probe in the outage's row, claims
// a step, and makes it the probe. A process killed in between leaves a reservation and a lease, which both expire.

func (e *Kernel) noteProbes(c *closures) {
	now, first := e.Now(), int64(0)
	for _, o := range c.outages {
		if at := int64(o.ProbeDue(now, e.outages.rules())); first == 0 || at < first {
			first = max(at, 1)
		}
	}
	e.outages.due.Store(first)
}

// isDue also reports true for a time too far off: it was noted before the clock was set back.
func (o *outages) isDue(now task.Instant) bool {
	due := task.Instant(o.due.Load())
	return due != 0 && (due <= now || due > now.Add(o.rules().Farthest()))
}

func (c *catalog) outageOf(route int64) *task.Outage {
	if c.closed.Load() == nil {
		return nil
	}
	return c.Closures.Load().outages[route]
}

func (e *Kernel) dueProbes() []*task.Outage {
	now := e.Now()
	if !e.outages.isDue(now) {
		return nil
	}
	c := e.Catalog.Closures.Load()
	var list []*task.Outage
	for _, o := range c.outages {
		r := e.Catalog.RouteByID(o.RouteID)
		if r != nil && o.ProbeDue(now, e.outages.rules()) <= now && c.of(r) == nil {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, firstOutage)
	return list
}

// probeFor lets a poll take a due probe. One poll at a time looks; the others continue without.
func (e *Kernel) probeFor(ctx context.Context, p *poller) ([]Lease, error) {
	if e.outages.due.Load() == 0 || p.idle || p.served == nil || !e.outages.isDue(e.Now()) {
		return nil, nil
	}
	if !e.outages.probing.TryLock() {
		return nil, nil
	}
	defer e.outages.probing.Unlock()
	for _, o := range e.dueProbes() {
		if r := e.Catalog.RouteByID(o.RouteID); r == nil || !p.served.kind.Serves(*r) {
			continue
		}
		if leases, err := e.probe(ctx, p, o); err != nil || len(leases) > 0 {
			return leases, err
		}
	}
	return nil, nil
}

func (e *Kernel) probe(ctx context.Context, p *poller, o *task.Outage) ([]Lease, error) {
	no, err := e.reserveProbe(ctx, o)
	if err != nil || no == 0 {
		return nil, err
	}
	one := &poller{worker: p.worker, routes: []int64{o.RouteID}, capacity: 1, start: p.start, toQueue: p.toQueue}
	leases, err := e.claimFromQueue(ctx, one, false)
	for n := 1; err == nil && len(leases) == 0 && one.onlyParked && n < maxParkingRounds; n++ {
		one.onlyParked = false
		leases, err = e.claimFromQueue(ctx, one, false)
	}
	if err != nil {
		return nil, err // the reservation expires
	}
	kept, err := e.beginProbe(ctx, o.ID, no, leases)
	if len(leases) > 0 && !kept { // nobody will run it; if this fails too, its lease expires
		_ = e.giveBack(ctx, leases)
		leases = nil
	}
	return leases, err
}

// reserveProbe returns the probe's number; 0: not due. Steps are locked before outages, as everywhere.
func (e *Kernel) reserveProbe(ctx context.Context, known *task.Outage) (no int64, err error) {
	rules := e.outages.rules()
	err = e.Write(ctx, "reserve_probe", func(u *Unit) error {
		no = 0
		var last Work
		if !known.ProbeStep.IsZero() {
			works, err := u.Rows.Load([]task.ID{known.ProbeStep})
			if err != nil {
				return err
			}
			last = works[0]
		}
		o, err := e.outageStore.LockOutage(u.Ctx, u.Tx, known.ID)
		if err != nil || o == nil || !o.Open() || o.ProbeStep != known.ProbeStep || o.ProbeDue(u.Now, rules) > u.Now {
			outageSlot.Of(u).changed = true // this process is out of date
			return err
		}
		if last.Step != nil && last.Step.HeldUnder(o.ProbeToken) {
			o.StillRunning(u.Now, rules)
		} else {
			no = o.Reserve(u.Now)
		}
		return outageSlot.Of(u).store(o)
	})
	return no, err
}

// beginProbe makes the step the probe, or ends the reservation. It reports whether the reservation was in force.
func (e *Kernel) beginProbe(ctx context.Context, id task.ID, no int64, leases []Lease) (kept bool, err error) {
	rules := e.outages.rules()
	err = e.Write(ctx, "begin_probe", func(u *Unit) error {
		kept = false
		o, err := e.outageStore.LockOutage(u.Ctx, u.Tx, id)
		if err != nil || o == nil || !o.Reserved(no) {
			return err
		}
		if len(leases) > 0 {
			o.Probe(&leases[0].Step, u.Now, rules)
			kept = true
		} else {
			o.NoProbe(u.Now, rules)
		}
		return outageSlot.Of(u).store(o)
	})
	return kept && err == nil, err
}

// WakeProbers wakes a waiting poll for each due probe. Upkeep calls it in every process.
func (e *Kernel) WakeProbers() {
	for _, o := range e.dueProbes() {
		if r := e.Catalog.RouteByID(o.RouteID); r != nil {
			e.waiters.wakeProber(r)
		}
	}
}

func (ws *waiters) wakeProber(r *task.Route) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, list := range ws.ofWorker {
		for _, p := range list {
			if !p.idle && p.served != nil && p.served.kind.Serves(*r) {
				ws.remove(p)
				close(p.wake)
				return
			}
		}
	}
}
