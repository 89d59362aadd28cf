package local

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Dispatched is a step leased to a worker, to be sent to the worker's queue.
type Dispatched struct {
	protocol.Assignment
	// TTL is how long it may wait there.
	TTL time.Duration
	// At is the time of the lease.
	At time.Time
}

// Dispatch leases up to capacity steps to a worker with the transport amqp, for the caller to send them to its queue;
// see engine.Engine.Dispatch. It waits up to wait for the first one. leaving: the worker gets no more steps.
// CodeNotFound: the worker is unknown. CodeWrongState: it only polls. What cannot be sent, the caller gives back by
// Settle with protocol.ResultReleased.
func (b *Backend) Dispatch(ctx context.Context, worker uuid.UUID, capacity int, wait time.Duration,
) (steps []Dispatched, leaving bool, err error) {
	leases, leaving, err := b.engine.Dispatch(ctx, toID(worker), max(capacity, 1), wait)
	if err != nil {
		return nil, false, ToError(err)
	}
	steps = make([]Dispatched, len(leases))
	for i := range leases {
		d := &leases[i]
		a, err := b.fromLease(&d.Lease)
		if err != nil {
			return nil, false, err
		}
		steps[i] = Dispatched{Assignment: a, TTL: d.TTL, At: d.Step.AssignedAt.Time()}
	}
	return steps, leaving, nil
}

// ExpiredDispatch is a dispatch whose message expired in the queue of its worker.
type ExpiredDispatch struct {
	Worker uuid.UUID
	Lease  protocol.LeaseRef
	// At is when it expired; the zero time: not known.
	At time.Time
}

// ExpireDispatches fails the attempts of dispatches that expired before their workers started them, and answers each in
// order; see engine.Engine.ExpireDispatches. A letter that changes nothing has the reason in its answer: CodeStaleToken
// for a lease that is over, or a token that is not of this worker and this step, CodeWrongState for a step that the
// worker has started, CodeNotFound for a step or a worker that does not exist.
func (b *Backend) ExpireDispatches(ctx context.Context, expired []ExpiredDispatch) ([]protocol.SettleAnswer, error) {
	out := make([]protocol.SettleAnswer, len(expired))
	var refs []engine.ExpiredDispatch
	var places []int
	numbers := map[uuid.UUID]int64{}
	for i, d := range expired {
		out[i].StepUUID = d.Lease.StepUUID
		no, known := numbers[d.Worker]
		if !known {
			var err error
			var absent *tasker.Error
			if no, err = b.known(ctx, d.Worker); err != nil &&
				!(errors.As(err, &absent) && absent.Code == tasker.CodeNotFound) {
				return nil, err
			}
			numbers[d.Worker] = no
		}
		if no == 0 {
			out[i].Error = tasker.Errorf(tasker.CodeNotFound, "there is no worker %s", d.Worker)
			continue
		}
		ref := engine.ExpiredDispatch{Lease: b.engine.LeaseOf(toID(d.Lease.StepUUID), no, d.Lease.Token)}
		if !d.At.IsZero() {
			ref.At = task.At(d.At)
		}
		refs, places = append(refs, ref), append(places, i)
	}
	if len(refs) == 0 {
		return out, nil
	}
	answers, err := b.engine.ExpireDispatches(ctx, refs)
	if err != nil {
		return nil, ToError(err)
	}
	for n, a := range answers {
		i := places[n]
		out[i].State, out[i].NextRetryAt, out[i].Error = tasker.StepState(a.State), a.NextRetryAt.Ptr(), itemError(a.Err)
	}
	return out, nil
}
