package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Workers that get their steps from a queue of a message broker. See docs/design/0037-dispatch-over-rabbitmq.md.

// transportFault describes the error in the transport of a registration, or returns "".
func (e *Engine) transportFault(t task.Transport) string {
	switch {
	case t != task.TransportHTTP && t != task.TransportAMQP:
		return "must be http or amqp, not " + strconv.Quote(string(t))
	case t == task.TransportAMQP && !e.cfg.Delivery.Offered:
		return "this server has no message broker (message_queue.rabbitmq.url), so its workers poll"
	}
	return ""
}

// QueueOf returns the name of the queue to which the steps of a worker are sent; "" for a worker that only polls.
func (e *Engine) QueueOf(w *task.Worker) string {
	if w.Transport != task.TransportAMQP {
		return ""
	}
	return task.DeliveryQueue(e.cfg.Delivery.QueuePrefix, w.ID)
}

// dispatchTTL is how long a step may wait in the queue of its worker.
func (e *Engine) dispatchTTL(s *task.Step, of *task.Template) time.Duration {
	return of.DispatchTTLOf(s, e.cfg.Delivery.TTL)
}

// DispatchOf reports whether an assigned step was dispatched to the queue of its worker, and until when it may wait
// there.
func (e *Engine) DispatchOf(s *task.Step, of *task.Template, w *task.Worker) (expires task.Instant, dispatched bool) {
	if s.State != task.StepAssigned || w == nil || w.Transport != task.TransportAMQP || e.leaseOfPoll(s) {
		return 0, false
	}
	return s.AssignedAt.Add(e.dispatchTTL(s, of)), true
}

// leaseOfPoll reports whether the lease of an assigned step is as long as that of a poll.
func (e *Engine) leaseOfPoll(s *task.Step) bool {
	return s.LeaseUntil.Sub(s.AssignedAt) == e.cfg.Leases.StartTimeout
}

// Dispatched is a step that is leased to a worker and has to be sent to its queue, where it may wait for TTL.
type Dispatched struct {
	Lease
	TTL time.Duration
}

// Dispatch is Poll on behalf of a worker with the transport amqp: it leases steps that the caller sends to the queue of
// the worker. The attempts begin when the worker starts them. Until then a lease is in force for the time that the step
// may wait in the queue, and Leases.StartTimeout more: the worker that takes the message in its last moment has the
// usual time to start, and the message has expired before the lease ends.
//
// The call is no sign of life of the worker: a dead worker gets nothing. A caller that cannot send a step gives it back
// (Settle with ResultReleased). WrongState: the worker only polls. In all other respects, and in its second result, it
// is like Poll.
func (e *Engine) Dispatch(ctx context.Context, worker task.ID, capacity int,
	wait time.Duration,
) ([]Dispatched, bool, error) {
	version := e.waiters.version.Load()
	w, err := e.ReachedWorker(ctx, worker)
	if err != nil {
		return nil, false, err
	}
	if w.Transport != task.TransportAMQP {
		return nil, false, task.Errorf(task.WrongState, "the worker %s polls: it has no queue to send steps to", worker)
	}
	leases, leaving, err := e.poll(ctx, w, &poller{toQueue: true}, version, capacity, wait)
	var out []Dispatched
	for i := range leases {
		out = append(out, Dispatched{leases[i], e.dispatchTTL(&leases[i].Step, leases[i].Template)})
	}
	return out, leaving, err
}

// storeDispatch writes a lease that the dispatcher has just granted to the store, with its real end. The dispatcher
// knows one length for all leases of a claim, and may lose them; a lease whose notice is in a queue for minutes must
// survive that. Removed from the dispatcher after the commit, it is one of the leases that only the store has, as after
// a failure of the dispatcher.
func storeDispatch(u *unit, w Work) error {
	t, err := u.rows.template(w.Step.DefID)
	if err != nil {
		return err
	}
	w.Step.Renew(w.Step.AssignedAt.Add(u.e.dispatchTTL(w.Step, t) + u.e.cfg.Leases.StartTimeout))
	u.moved(w, w.Step.State)
	return nil
}

// undeliveredFor is how long after the death of a worker its queue is looked after for steps that were dispatched to it
// by a node that did not know.
const undeliveredFor = 2 * time.Minute

// returnUndelivered gives back the steps that dead workers hold in their queues: nobody will start them, and their
// leases are long. They return one after another, like all steps of lost workers. The death of a worker costs nothing,
// up to queuedReturns. Their messages expire in time, as letters that come late.
func (e *Engine) returnUndelivered(ctx context.Context, dead []*task.Worker) error {
	for _, w := range dead {
		if w.Transport != task.TransportAMQP {
			continue
		}
		if err := e.write(ctx, "return_dispatches", func(u *unit) error {
			works, err := u.tx.Held(u.ctx, w.No, maxHeld)
			if err != nil {
				return err
			}
			works = slices.DeleteFunc(u.rows.intern(works), func(w Work) bool { return w.Step.State != task.StepAssigned })
			if len(works) == 0 {
				return nil
			}
			now, err := u.tx.Workers(u.ctx, []int64{w.No})
			if err != nil || len(now) > 0 && now[0].State != task.WorkerDead {
				return err // it is back
			}
			waits, free := u.stagger(works), u.e.cfg.Leases.FreeReturns*queuedReturns
			before, err := returns{u}.before(works)
			if err != nil {
				return err
			}
			for _, w := range works {
				if err := (returns{u}).unstarted(w, waits[w.Step], before[w.Step.ID], free,
					"the worker died with the step in its queue"); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return fmt.Errorf("return the steps in the queue of worker %s: %w", w.ID, err)
		}
	}
	return nil
}
