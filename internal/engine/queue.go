package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/task"
)

// queue is where ready steps are claimed and where the leases on them are kept. There are two: storeQueue, for which
// the rows say everything, and dispatchQueue, which has a Dispatcher beside the store and goes on without it whenever
// it fails. Nothing but these two (queue.go, dispatch_*.go) and the agreement of several processes (coordinator*.go)
// asks which one it is.
type queue interface {
	queueClaims
	queueCounts
	queueUnits
}

// queueClaims is the part of a queue for workers.
type queueClaims interface {
	// begin comes before each claim: steps may be claimed here when it returns. Without wait it does not block, and
	// whoever comes too early is woken.
	begin(ctx context.Context, wait bool) error
	// phase tells apart the times in which steps are claimed from one place. A claim that came away with nothing asks
	// again if it has changed meanwhile.
	phase() claimPhase
	// claim serves many pollers.
	claim(calls []*poller) ([][]Lease, error)
	// renew starts leases, or renews them; stored does it for those that are in the store.
	renew(verb string, calls []leaseCall, stored func([]leaseCall) ([][]LeaseAnswer, error)) ([][]LeaseAnswer, error)
	// leasesElsewhere reports whether leases may be in force that the rows do not know: a dispatcher has granted them,
	// here or through another process.
	leasesElsewhere() bool
}

// claimPhase is a time in which steps are claimed from one place.
type claimPhase struct {
	inStore bool
	epoch   int64 // 0: nothing is handed out; see coordinator
}

// queueCounts is the part of a queue for whoever looks at it.
type queueCounts interface {
	// depth and ahead count as Engine.Depth and Engine.Ahead.
	depth(ctx context.Context, route, key int64, id task.ID, limit int) (int, error)
	ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error)
	// readyCounts counts the steps that wait on each route, of the store's the first limit. Routes without any may
	// be missing.
	readyCounts(ctx context.Context, limit int) (map[int64]int, error)
	// readyOn counts the steps that wait on the routes. The store belongs to several processes.
	readyOn(ctx context.Context, routes []int64) (map[int64]int, error)
	// held counts, by the numbers of workers, the leases that are not in the store.
	held(ctx context.Context) (map[int64]int, error)
	// holds returns up to limit leases that are not in the store, those that run out first at the head.
	holds(ctx context.Context, limit int) ([]Hold, error)
	// heldBy returns the steps of leases of a worker that are not in the store.
	heldBy(ctx context.Context, worker int64) ([]task.ID, error)
	// show makes of steps that were read from the store what they are under leases that it does not know. It leaves
	// them as they are when it cannot tell.
	show(ctx context.Context, steps []*task.Step)
}

// queueUnits is the part of a queue for units of work.
type queueUnits interface {
	// attach is called before a unit reads anything.
	attach(u *unit)
	// loadHolds tells a unit the leases on steps that are ready in the store.
	loadHolds(u *unit, works []Work)
	// handsOut reports whether a unit may hand out steps of the store, and the permit that it then has to leave.
	handsOut() (permit, bool)
	// becameReady and rekeyed are told of steps that wait from now on, or in another place than was.
	becameReady(u *unit, w Work)
	rekeyed(u *unit, s *task.Step, was int64)
	// committed wakes those who wait for what a unit did.
	committed(u *unit)
	// flush waits until the queue knows of all that was committed before, or cannot be reached.
	flush()
	// forget drops what is remembered of the database's rows.
	forget()
}

// storeQueue is the store as the queue.
type storeQueue struct{ e *Engine }

func (q storeQueue) begin(ctx context.Context, wait bool) error {
	if q.e.coordinator == nil {
		return nil
	}
	return q.e.coordinator.ensure(ctx, wait)
}

func (q storeQueue) phase() claimPhase {
	return claimPhase{inStore: true, epoch: q.e.coordinator.epoch()}
}

func (q storeQueue) claim(calls []*poller) ([][]Lease, error) {
	return q.e.coordinator.claim(calls, func(handOutFrom) ([][]Lease, error) { return q.e.claimStored(calls) })
}

func (q storeQueue) renew(_ string, calls []leaseCall,
	stored func([]leaseCall) ([][]LeaseAnswer, error),
) ([][]LeaseAnswer, error) {
	return stored(calls)
}

func (q storeQueue) leasesElsewhere() bool {
	return q.e.coordinator != nil && q.e.coordinator.mixed.Load()
}

func (q storeQueue) depth(ctx context.Context, route, key int64, id task.ID, limit int) (int, error) {
	return q.e.queueStore.Depth(ctx, route, key, id, limit)
}

func (q storeQueue) ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error) {
	return q.e.queueStore.Ahead(ctx, routes, key, id, limit)
}

func (q storeQueue) readyCounts(ctx context.Context, limit int) (map[int64]int, error) {
	return q.e.queueStore.ReadyCounts(ctx, limit)
}

func (q storeQueue) readyOn(ctx context.Context, routes []int64) (map[int64]int, error) {
	return q.e.cluster.Occupied(ctx, routes, maxOccupied)
}

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

func (q storeQueue) handsOut() (permit, bool) {
	if q.e.coordinator == nil {
		return permit{}, true
	}
	out, ok := q.e.coordinator.gate.enter(q.e.instant())
	return out, ok && out.at == fromStore
}

func (q storeQueue) committed(u *unit) {
	q.e.waiters.publish(u)
	q.e.publishReady(u)
}
