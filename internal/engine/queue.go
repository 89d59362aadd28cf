package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// queue is where ready steps are claimed and where their leases are kept. There are two: storeQueue reads both from the
// rows; dispatchQueue keeps both in a Dispatcher next to the store, and continues without it whenever it fails. Only
// these two (queue.go, dispatch_*.go) and the agreement of several processes (coordinator*.go) know which of them is in
// use.
type queue interface {
	queueClaims
	queueCounts
	queueUnits
}

// queueClaims is the part of a queue for workers.
type queueClaims interface {
	// begin precedes each claim: when it returns, steps may be claimed here. Without wait it does not block, and a
	// caller that comes too early is woken later.
	begin(ctx context.Context, wait bool) error
	// phase identifies the current claimPhase. A claim that found nothing runs again if the phase has changed
	// meanwhile.
	phase() claimPhase
	// claim serves many pollers.
	claim(calls []*poller) ([][]Lease, error)
	// renew starts or renews leases; stored does so for the leases that are in the store.
	renew(verb string, calls []leaseCall, stored func([]leaseCall) ([][]LeaseAnswer, error)) ([][]LeaseAnswer, error)
	// leasesElsewhere reports whether leases may be in force that the rows do not show: a dispatcher has granted them,
	// here or through another process.
	leasesElsewhere() bool
}

// claimPhase is a period in which steps are claimed from one place.
type claimPhase struct {
	inStore bool
	epoch   int64 // 0: nothing is handed out; see coordinator
}

// queueCounts is the part of a queue for readers.
type queueCounts interface {
	// depth and ahead count like Engine.Depth and Engine.Ahead.
	depth(ctx context.Context, route, key int64, id task.ID, limit int) (int, error)
	ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error)
	// readyCounts counts the steps that wait on each route; in the store, the first limit steps. Routes without any may
	// be missing.
	readyCounts(ctx context.Context, limit int) (map[int64]int, error)
	// readyOn counts the steps that wait on the routes. The store must be shared by several processes.
	readyOn(ctx context.Context, routes []int64) (map[int64]int, error)
	// held counts, by the numbers of workers, the leases that are not in the store.
	held(ctx context.Context) (map[int64]int, error)
	// holds returns up to limit leases that are not in the store, the first to expire first.
	holds(ctx context.Context, limit int) ([]Hold, error)
	// heldBy returns the steps of leases of a worker that are not in the store.
	heldBy(ctx context.Context, worker int64) ([]task.ID, error)
	// show applies leases that the store does not know to steps read from it. It leaves the steps unchanged when it
	// cannot read the leases.
	show(ctx context.Context, steps []*task.Step)
}

// queueUnits is the part of a queue for units of work.
type queueUnits interface {
	// attach precedes every read of a unit.
	attach(u *unit)
	// loadHolds gives a unit the leases on steps that are ready in the store.
	loadHolds(u *unit, works []Work)
	// handsOut reports whether a unit may hand out steps of the store, and returns the permit that it must then
	// release.
	handsOut() (permit, bool)
	// becameReady and rekeyed report steps that wait from now on, or that wait at a new position.
	becameReady(u *unit, w Work)
	rekeyed(u *unit, s *task.Step, was int64)
	// committed wakes the waiters that a unit concerns.
	committed(u *unit)
	// flush waits until the queue has received everything committed before, or cannot be reached.
	flush()
	// forget drops everything remembered of the database's rows.
	forget()
}

// storeQueue is the queue in the store.
type storeQueue struct{ e *Engine }

// begin implements queueClaims. A process that is alone may always claim.
func (q storeQueue) begin(ctx context.Context, wait bool) error {
	if q.e.coordinator == nil {
		return nil
	}
	return q.e.coordinator.ensure(ctx, wait)
}

// phase implements queueClaims.
func (q storeQueue) phase() claimPhase {
	return claimPhase{inStore: true, epoch: q.e.coordinator.epoch()}
}

// claim implements queueClaims.
func (q storeQueue) claim(calls []*poller) ([][]Lease, error) {
	return q.e.coordinator.claim(calls, func(handOutFrom) ([][]Lease, error) { return q.e.claimStored(calls) })
}

// renew implements queueClaims: every lease is in the store.
func (q storeQueue) renew(_ string, calls []leaseCall,
	stored func([]leaseCall) ([][]LeaseAnswer, error),
) ([][]LeaseAnswer, error) {
	return stored(calls)
}

// leasesElsewhere implements queueClaims. It is true as soon as another process was seen that
// has a dispatcher.
func (q storeQueue) leasesElsewhere() bool {
	return q.e.coordinator != nil && q.e.coordinator.mixed.Load()
}

// depth and the three methods below implement queueCounts by queries.
func (q storeQueue) depth(ctx context.Context, route, key int64, id task.ID, limit int) (int, error) {
	return q.e.queuePlaces.Depth(ctx, route, key, id, limit)
}

func (q storeQueue) ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error) {
	return q.e.queuePlaces.Ahead(ctx, routes, key, id, limit)
}

func (q storeQueue) readyCounts(ctx context.Context, limit int) (map[int64]int, error) {
	return q.e.queueCounts.ReadyCounts(ctx, limit)
}

func (q storeQueue) readyOn(ctx context.Context, routes []int64) (map[int64]int, error) {
	return q.e.cluster.Occupied(ctx, routes, maxOccupied)
}

// The rest of queueCounts and queueUnits has nothing to do here: there are no leases outside of
// the store, and nothing is remembered.
func (q storeQueue) held(context.Context) (map[int64]int, error)      { return nil, nil }
func (q storeQueue) holds(context.Context, int) ([]Hold, error)       { return nil, nil }
func (q storeQueue) heldBy(context.Context, int64) ([]task.ID, error) { return nil, nil }
func (q storeQueue) show(context.Context, []*task.Step)               {}
func (q storeQueue) attach(*unit)                                     {}
func (q storeQueue) loadHolds(*unit, []Work)                          {}
func (q storeQueue) becameReady(*unit, Work)                          {}
func (q storeQueue) rekeyed(*unit, *task.Step, int64)                 {}
func (q storeQueue) flush()                                           {}
func (q storeQueue) forget()                                          {}

// handsOut implements queueUnits. The permit keeps other processes from handing out the same
// steps until the unit has committed.
func (q storeQueue) handsOut() (permit, bool) {
	if q.e.coordinator == nil {
		return permit{}, true
	}
	out, ok := q.e.coordinator.gate.enter(q.e.instant())
	return out, ok && out.at == fromStore
}

// committed implements queueUnits: polls here are woken at once, those of other processes by an
// event.
func (q storeQueue) committed(u *unit) {
	q.e.waiters.publish(u)
	q.e.publishReady(u)
}
