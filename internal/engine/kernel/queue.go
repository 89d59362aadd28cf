package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// queue claims ready steps and keeps their leases. storeQueue uses the rows; dispatchQueue uses a Dispatcher, and
// continues without it when it fails. Only queue.go, dispatch_*.go and coordinator*.go distinguish them.
type queue interface {
	queueClaims
	queueCounts
	queueUnits
}

type queueClaims interface {
	// begin precedes each claim: after it, steps may be claimed here. Without wait it does not block, and wakes an
	// early caller later.
	begin(ctx context.Context, wait bool) error
	// phase identifies the claimPhase. A claim that found nothing repeats if it has changed.
	phase() claimPhase
	claim(calls []*poller) ([][]Lease, error)
	// renew starts or renews leases; stored does so for those in the store.
	renew(verb string, calls []leaseCall, stored func([]leaseCall) ([][]LeaseAnswer, error)) ([][]LeaseAnswer, error)
	// leasesElsewhere reports whether a dispatcher may have granted leases that the rows do not show.
	leasesElsewhere() bool
}

type claimPhase struct {
	inStore bool
	epoch   int64 // 0: no claims; see coordinator
}

type queueCounts interface {
	depth(ctx context.Context, route, key int64, id task.ID, limit int) (int, error)
	ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error)
	// readyCounts counts the steps that wait on each route; in the store, only limit steps. Empty routes may be
	// missing.
	ReadyCounts(ctx context.Context, limit int) (map[int64]int, error)
	// readyOn requires a store shared by several processes.
	readyOn(ctx context.Context, routes []int64) (map[int64]int, error)
	held(ctx context.Context) (map[int64]int, error)
	// holds returns up to limit leases outside of the store by expiry.
	Holds(ctx context.Context, limit int) ([]Hold, error)
	heldBy(ctx context.Context, worker int64) ([]task.ID, error)
	// On an error the steps stay unchanged.
	Show(ctx context.Context, steps []*task.Step)
}

type queueUnits interface {
	attach(u *Unit)
	loadHolds(u *Unit, works []Work)
	// A unit that may hand out steps of the store must release the permit.
	handsOut() (permit, bool)
	// becameReady and rekeyed report steps with a new position.
	becameReady(u *Unit, w Work)
	rekeyed(u *Unit, s *task.Step, was int64)
	committed(u *Unit)
	// flush waits until the queue has received every earlier commit, or is out of reach.
	flush()
	forget()
}

type storeQueue struct{ e *Kernel }

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

// leasesElsewhere is true once another process with a dispatcher was seen.
func (q storeQueue) leasesElsewhere() bool {
	return q.e.coordinator != nil && q.e.coordinator.mixed.Load()
}

func (q storeQueue) depth(ctx context.Context, route, key int64, id task.ID, limit int) (int, error) {
	return q.e.Places.Depth(ctx, route, key, id, limit)
}

func (q storeQueue) ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error) {
	return q.e.Places.Ahead(ctx, routes, key, id, limit)
}

func (q storeQueue) ReadyCounts(ctx context.Context, limit int) (map[int64]int, error) {
	return q.e.QueueCounts.ReadyCounts(ctx, limit)
}

func (q storeQueue) readyOn(ctx context.Context, routes []int64) (map[int64]int, error) {
	return q.e.Cluster.Occupied(ctx, routes, maxOccupied)
}

// There are no leases outside of the store, and nothing to forget.
func (q storeQueue) held(context.Context) (map[int64]int, error)      { return nil, nil }
func (q storeQueue) Holds(context.Context, int) ([]Hold, error)       { return nil, nil }
func (q storeQueue) heldBy(context.Context, int64) ([]task.ID, error) { return nil, nil }
func (q storeQueue) Show(context.Context, []*task.Step)               {}
func (q storeQueue) attach(*Unit)                                     {}
func (q storeQueue) loadHolds(*Unit, []Work)                          {}
func (q storeQueue) becameReady(*Unit, Work)                          {}
func (q storeQueue) rekeyed(*Unit, *task.Step, int64)                 {}
func (q storeQueue) flush()                                           {}
func (q storeQueue) forget()                                          {}

// The permit keeps other processes from handing out the same steps before the commit.
func (q storeQueue) handsOut() (permit, bool) {
	if q.e.coordinator == nil {
		return permit{}, true
	}
	out, ok := q.e.coordinator.gate.enter(q.e.Now())
	return out, ok && out.at == fromStore
}

// committed wakes local polls directly, and others by an event.
func (q storeQueue) committed(u *Unit) {
	q.e.waiters.publish(u)
	q.e.publishReady(u)
}
