package kernel

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Workers may get their steps from a queue of a message broker; see docs/design/0037-dispatch-over-rabbitmq.md.

func (e *Kernel) transportFault(t task.Transport) string {
	switch {
	case t != task.TransportHTTP && t != task.TransportAMQP:
		return "must be http or amqp, not " + strconv.Quote(string(t))
	case t == task.TransportAMQP && !e.Cfg.Delivery.Offered:
		return "this server has no message broker (message_queue.rabbitmq.url), so its workers poll"
	}
	return ""
}

// QueueOf returns the name of the queue of a worker, "" for one that only polls.
func (e *Kernel) QueueOf(w *task.Worker) string {
	if w.Transport != task.TransportAMQP {
		return ""
	}
	return task.DeliveryQueue(e.Cfg.Delivery.QueuePrefix, w.ID)
}

func (e *Kernel) dispatchTTL(s *task.Step, of *task.Template) time.Duration {
	return of.DispatchTTLOf(s, e.Cfg.Delivery.TTL)
}

// DispatchOf reports whether an assigned step was sent to a queue, and until when it may wait there.
func (e *Kernel) DispatchOf(s *task.Step, of *task.Template, w *task.Worker) (expires task.Instant, dispatched bool) {
	if s.State != task.StepAssigned || w == nil || w.Transport != task.TransportAMQP || e.leaseOfPoll(s) {
		return 0, false
	}
	return s.AssignedAt.Add(e.dispatchTTL(s, of)), true
}

func (e *Kernel) leaseOfPoll(s *task.Step) bool {
	return s.LeaseUntil.Sub(s.AssignedAt) == e.Cfg.Leases.StartTimeout
}

// Dispatched is a leased step to send to its worker's queue, where it may wait for TTL.
type Dispatched struct {
	Lease
	TTL time.Duration
}

// Dispatch is Poll for a worker with the transport amqp: the caller sends the leased steps to the worker's queue, or
// gives them back (Settle with ResultReleased). The worker starts the attempts. Until then a lease lasts for the time
// in the queue plus Leases.StartTimeout, so that a message taken at the last moment can be started.
//
// The call is no sign of life of the worker. WrongState: the worker only polls.
func (e *Kernel) Dispatch(ctx context.Context, worker task.ID, capacity int,
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

// storeDispatch stores a lease's real end: the dispatcher has one length for all leases of a claim, and may lose them
// while a message waits.
func storeDispatch(u *Unit, w Work) error {
	t, err := u.Rows.Template(w.Step.DefID)
	if err != nil {
		return err
	}
	w.Step.Renew(w.Step.AssignedAt.Add(u.E.dispatchTTL(w.Step, t) + u.E.Cfg.Leases.StartTimeout))
	u.Moved(w, w.Step.State)
	return nil
}

// undeliveredFor covers steps from a node that had not noticed the death.
const undeliveredFor = 2 * time.Minute

// returnUndelivered gives back the steps queued for dead workers, whose leases are long, one after another. Up to
// queuedReturns returns cost no attempt. The messages expire as late letters.
func (e *Kernel) returnUndelivered(ctx context.Context, dead []*task.Worker) error {
	for _, w := range dead {
		if w.Transport != task.TransportAMQP {
			continue
		}
		if err := e.Write(ctx, "return_dispatches", func(u *Unit) error {
			works, err := u.Tx.Held(u.Ctx, w.No, maxHeld)
			if err != nil {
				return err
			}
			works = slices.DeleteFunc(u.Rows.intern(works), func(w Work) bool { return w.Step.State != task.StepAssigned })
			if len(works) == 0 {
				return nil
			}
			now, err := u.Tx.Workers(u.Ctx, []int64{w.No})
			if err != nil || len(now) > 0 && now[0].State != task.WorkerDead {
				return err // it is back
			}
			waits, free := u.stagger(works), u.E.Cfg.Leases.FreeReturns*queuedReturns
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
