package kernel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A step dispatched and not started in time ends by a letter, the expired message from the broker, or a little later
// in ReapLeases (the backstop). The lease ensures that only one of them ends the attempt.

// ExpiredDispatch names a dispatch whose message has expired.
type ExpiredDispatch struct {
	Lease LeaseRef
	At    task.Instant // 0: unknown
}

// ExpireDispatches fails attempts that waited too long in workers' queues, in one transaction, and answers each in
// order. It blocks until the outcome is durable. Delivery.OnExpiry, Delivery.ExpiryLimit and the retry policy decide
// about a retry.
//
// Letters may come late and repeatedly, and then change nothing: StaleToken where the lease is over, WrongState for a
// started step, NotFound for an unknown one. Invalid: no dispatches. TooLarge: more than Limits.BatchItems.
func (e *Kernel) ExpireDispatches(ctx context.Context, expired []ExpiredDispatch) ([]Answer, error) {
	if err := check.Batch("/dispatches", len(expired), e.Cfg.Limits.BatchItems); err != nil {
		return nil, err
	}
	ids := make([]task.ID, len(expired))
	for i, d := range expired {
		ids[i] = d.Lease.Step
	}
	var answers []Answer
	err := e.Write(ctx, "expire_dispatches", func(u *Unit) error {
		xs := expiries{u}
		works, err := u.Rows.Load(ids)
		if err != nil {
			return err
		}
		answers = make([]Answer, len(expired))
		seen := map[*task.Step]bool{}
		var due []expiry
		for i, w := range works {
			ref := expired[i].Lease
			answers[i] = Answer{Step: ref.Step, Err: xs.lateLetter(w.Step, ref)}
			if answers[i].Err == nil && seen[w.Step] {
				answers[i].Err = notInForce(w.Step, ref)
			} else if answers[i].Err == nil {
				seen[w.Step] = true
				due = append(due, expiry{Work: w, at: expired[i].At})
			}
		}
		if err := xs.withWorkers(due); err != nil {
			return err
		}
		if err := xs.fail(due); err != nil {
			return err
		}
		for i, w := range works {
			if w.Step == nil || expired[i].Lease.Token == 0 {
				continue
			}
			answers[i].State = w.Step.State
			if answers[i].Err == nil && w.Step.Queue == task.Timers {
				answers[i].NextRetryAt = task.Instant(w.Step.Key)
			}
		}
		return nil
	})
	return answers, err
}

// lateLetter returns why a letter changes nothing, or nil. Dispatched leases are always stored, so it adopts none
// from a token.
func (xs expiries) lateLetter(s *task.Step, ref LeaseRef) error {
	if s == nil {
		return task.Errorf(task.NotFound, "there is no step %s", ref.Step)
	}
	if !s.HeldUnder(ref.Token) || !xs.u.leases.inForce(s, ref) {
		return notInForce(s, ref)
	}
	if s.State != task.StepAssigned {
		return task.Errorf(task.WrongState, "the worker has started step %s: it is %s", s.ID, s.State)
	}
	return nil
}

type expiries struct{ u *Unit }

type expiry struct {
	Work
	at     task.Instant // 0: unknown
	worker *task.Worker // nil: it was deleted
}

// undelivered separates expired dispatches: their worker has a queue, and their lease another length than a poll's.
// The length alone is not enough, because Leases.StartTimeout may have changed. It is checked first, so that workers
// are rarely read.
func (xs expiries) undelivered(works []Work) (late []expiry, others []Work, err error) {
	for _, w := range works {
		s := w.Step
		if s.State == task.StepAssigned && !xs.u.E.leaseOfPoll(s) && xs.u.leaseOutcome(s) == notStarted {
			late = append(late, expiry{Work: w})
		}
	}
	if len(late) == 0 {
		return nil, works, nil
	}
	if err := xs.withWorkers(late); err != nil {
		return nil, nil, err
	}
	late = slices.DeleteFunc(late, func(x expiry) bool {
		return x.worker == nil || x.worker.Transport != task.TransportAMQP
	})
	apart := make(map[*task.Step]bool, len(late))
	for _, x := range late {
		apart[x.Step] = true
	}
	others = slices.DeleteFunc(slices.Clone(works), func(w Work) bool { return apart[w.Step] })
	return late, others, nil
}

func (xs expiries) withWorkers(list []expiry) error {
	if len(list) == 0 {
		return nil
	}
	nos := make([]int64, len(list))
	for i, x := range list {
		nos[i] = x.Step.WorkerNo
	}
	slices.Sort(nos)
	workers, err := xs.u.Tx.Workers(xs.u.Ctx, slices.Compact(nos))
	if err != nil {
		return err
	}
	of := make(map[int64]*task.Worker, len(workers))
	for _, w := range workers {
		of[w.No] = w
	}
	for i := range list {
		list[i].worker = of[list[i].Step.WorkerNo]
	}
	return nil
}

// fail charges attempts that never began: the steps have waited long enough.
func (xs expiries) fail(list []expiry) error {
	again, err := xs.retried(list)
	if err != nil {
		return err
	}
	for i, x := range list {
		t, err := xs.u.Rows.Template(x.Step.DefID)
		if err != nil {
			return err
		}
		f, err := xs.failure(x, xs.u.E.dispatchTTL(x.Step, t), again[i])
		if err != nil {
			return err
		}
		x.Step.Charge()
		if err := xs.u.fail(x.Work, task.DispatchExpired, f); err != nil {
			return err
		}
	}
	return nil
}

// retried reports whether Delivery allows a retry. Expired dispatches are charged, so it reads attempts only of steps
// with enough of them for the limit.
func (xs expiries) retried(list []expiry) ([]bool, error) {
	cfg, again := xs.u.E.Cfg.Delivery, make([]bool, len(list))
	if cfg.OnExpiry == settings.ExpiryFail {
		return again, nil
	}
	var tasks []task.ID
	for i, x := range list {
		if again[i] = x.Step.Attempts+1 < cfg.ExpiryLimit; !again[i] {
			tasks = append(tasks, x.Step.TaskID)
		}
	}
	if len(tasks) == 0 {
		return again, nil
	}
	slices.SortFunc(tasks, func(a, b task.ID) int { return cmp.Compare(a.String(), b.String()) })
	charged, err := xs.u.E.Evidences.ChargedAttempts(xs.u.Ctx, xs.u.Tx, slices.Compact(tasks))
	if err != nil {
		return nil, err
	}
	of := map[task.ID][]task.Attempt{}
	for _, a := range charged {
		of[a.StepID] = append(of[a.StepID], a)
	}
	for i, x := range list {
		again[i] = again[i] || task.ExpiredDispatches(of[x.Step.ID], x.Step)+1 < cfg.ExpiryLimit
	}
	return again, nil
}

// The failure of an expired dispatch.
const (
	expiredType    = "queue_timeout"
	expiredCode    = "WORKER_QUEUE_TTL_EXPIRED"
	expiredMessage = "Worker queue TTL expired"
)

func (xs expiries) failure(x expiry, ttl time.Duration, retryable bool) (*task.Failure, error) {
	at := cmp.Or(x.at, x.Step.AssignedAt.Add(ttl))
	details := struct {
		Worker     string `json:"worker,omitempty"`
		WorkerName string `json:"worker_name,omitempty"`
		ExpiredAt  string `json:"expired_at"`
		TTL        int64  `json:"ttl_ms"`
	}{ExpiredAt: at.Time().UTC().Format("2006-01-02T15:04:05.000Z07:00"), TTL: ttl.Milliseconds()}
	if x.worker != nil {
		details.Worker, details.WorkerName = x.worker.ID.String(), x.worker.Name
	}
	data, err := json.Marshal(details)
	if err != nil {
		return nil, fmt.Errorf("encode the details of an expired dispatch: %w", err)
	}
	return &task.Failure{Type: expiredType, Code: expiredCode, Message: expiredMessage, Class: failure.Worker,
		Retryable: retryable, Details: data}, nil
}
