package engine

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/settings"
	"github.com/taskerhq/tasker/internal/task"
)

// What becomes of steps whose leases ran out, and of the priority, the time-out and
// the number of attempts of those that fail. See docs/design/0013-recovery.md.

// leaseOutcome is what a lease that has to be looked after comes to.
type leaseOutcome int

const (
	spared     leaseOutcome = iota // held on: there was nobody to send heartbeats to
	stepped                        // held on: it is only the clock that says it took so long
	notStarted                     // assigned, and not begun in time
	timedOut                       // begun, and longer than its time-out
	lostEarly                      // no heartbeat; nothing charged
	lostLate                       // no heartbeat; charged
)

func (u *unit) leaseOutcome(s *task.Step) leaseOutcome {
	lease, deadline := u.realEnds(s)
	switch {
	case deadline != 0 && deadline <= u.now:
		return timedOut
	case lease > u.now:
		return stepped
	case s.State == task.StepAssigned:
		return notStarted
	case u.now < u.e.grace():
		return spared
	case u.lostEarly(s):
		return lostEarly
	default:
		return lostLate
	}
}

// realEnds is when the lease and the attempt (0: none runs) really end, on a clock that may have been put forward
// since they began.
func (u *unit) realEnds(s *task.Step) (lease, deadline task.Instant) {
	lease = s.LeaseUntil.Add(u.e.stepped(u.lastSign(s).Time()))
	if d := s.Deadline(); d != 0 {
		deadline = d.Add(u.e.stepped(s.StartedAt.Time()))
	}
	return lease, deadline
}

// lastSign is when the worker gave its last sign of life about the step.
func (u *unit) lastSign(s *task.Step) task.Instant {
	if s.State == task.StepAssigned {
		return s.AssignedAt
	}
	return s.LeaseUntil.Add(-u.e.cfg.Leases.Lease())
}

// lostEarly reports whether the worker's last sign of life came so early in the
// attempt that the step can hardly be to blame.
func (u *unit) lostEarly(s *task.Step) bool {
	early := float64(s.Timeout) * u.e.cfg.Leases.FreeRequeueFraction
	return s.Progress == 0 && early > 0 && float64(u.lastSign(s).Sub(s.StartedAt)) < early
}

// reapAll looks after leases whose time has come.
func (u *unit) reapAll(works []Work) error {
	waits := u.stagger(works)
	for _, w := range works {
		if err := u.reap(w, waits[w.Step]); err != nil {
			return err
		}
	}
	return nil
}

// reap looks after one lease. A step that comes back waits for a while first.
func (u *unit) reap(w Work, wait time.Duration) error {
	s := w.Step
	back := task.Instant(0)
	if wait > 0 {
		back = u.now.Add(wait)
	}
	switch u.leaseOutcome(s) {
	case spared:
		s.Renew(u.e.grace())
		u.moved(w, s.State)
		return nil
	case stepped:
		lease, deadline := u.realEnds(s)
		if deadline != 0 {
			lease = min(lease, deadline)
		}
		s.LookAt(lease)
		u.moved(w, s.State)
		return nil
	case timedOut:
		return u.fail(w, task.TimedOut, &task.Failure{Type: "timeout", Code: "TIMEOUT", Retryable: true,
			Message: fmt.Sprintf("the attempt ran longer than its time-out of %s", s.Timeout)})
	case notStarted:
		if u.e.cfg.Leases.FreeRequeueFraction < 0 {
			return u.chargeUnstarted(w, wait)
		}
		return u.lose(w, task.NotStarted, back)
	case lostEarly:
		return u.lose(w, task.LeaseExpired, back)
	default:
		return u.failAfter(w, task.LeaseExpired, &task.Failure{Type: "lease_expired", Code: "WORKER_LOST", Retryable: true,
			Message: fmt.Sprintf("no heartbeat for %s: the worker died or lost its connection", u.e.cfg.Leases.Lease())}, wait)
	}
}

// chargeUnstarted counts an attempt for a step that its worker never began, where
// nothing is free.
func (u *unit) chargeUnstarted(w Work, wait time.Duration) error {
	w.Step.Charge()
	return u.failAfter(w, task.NotStarted, &task.Failure{Type: "not_started", Code: "WORKER_LOST", Retryable: true,
		Message: fmt.Sprintf("the worker did not start the step within %s", u.e.cfg.Leases.StartTimeout)}, wait)
}

// recalculate gives a step that has come back the place that its whole wait is worth,
// where that is configured: since its task was submitted, or was to begin.
func (u *unit) recalculate(w Work) {
	if u.e.cfg.Recovery.RetryPriority == settings.RetryRecalculated {
		w.Step.Age(u.now, max(w.Task.CreatedAt, w.Task.RunAt), u.order)
	}
}

// lose gives back a step whose worker is lost, with nothing charged.
func (u *unit) lose(w Work, outcome task.Outcome, back task.Instant) error {
	t, err := u.rows.template(w.Step.DefID)
	if err != nil {
		return err
	}
	w.Step.Priority = u.e.raised(w, t)
	return u.uncharged(w, outcome, back)
}

// stagger says how long each step of lost workers waits before it comes back. Those of
// one worker come one after another, in the order in which they would be claimed:
// what was spread over the time that it took to hand it out is not to hit the
// others, and all that these depend on, in one moment.
func (u *unit) stagger(works []Work) map[*task.Step]time.Duration {
	cfg := u.e.cfg.Recovery
	batches := map[int64][]*task.Step{}
	for _, w := range works {
		if f := u.leaseOutcome(w.Step); f != spared && f != timedOut {
			batches[w.Step.WorkerNo] = append(batches[w.Step.WorkerNo], w.Step)
		}
	}
	waits := map[*task.Step]time.Duration{}
	for _, steps := range batches {
		slices.SortFunc(steps, func(a, b *task.Step) int {
			return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ReadyAt, b.ReadyAt),
				bytes.Compare(a.ID[:], b.ID[:]))
		})
		gap := max(cfg.Stagger, 0)
		if last := len(steps) - 1; last > 0 {
			gap = min(gap, cfg.MaxStagger/time.Duration(last))
		}
		for i, s := range steps {
			waits[s] = cfg.RequeueDelay + gap*time.Duration(i)
		}
	}
	return waits
}

// RetryOf is the policy by which a step is repeated, without what its priority gives.
func (e *Engine) RetryOf(spec task.StepSpec) task.Retry {
	return spec.Retry.Over(max(e.cfg.Recovery.BaseDelay, 0), max(e.cfg.Recovery.Jitter, 0))
}

// allowed is how many attempts there may be in all of a step that has failed with a
// class.
func (e *Engine) allowed(w Work, t *task.Template, c failure.Class) int {
	policy := t.Spec(w.Step).Retry
	// The number of a task without a template is not stored with its origin. One that
	// is what its priority gives anyway says nothing.
	chosen := policy.MaxAttempts > 0 || w.Step.MaxAttempts != e.level(ownLevel(w, t)).MaxRetries+1
	b := task.Budget{Attempts: w.Step.MaxAttempts, Chosen: chosen, Own: policy.Limits, Common: e.cfg.Recovery.Common()}
	return b.After(c)
}

// ownLevel is the level that a step had before anything raised it.
func ownLevel(w Work, t *task.Template) int {
	if own := t.Spec(w.Step).Priority; own != nil {
		return *own
	}
	return w.Task.Priority
}

// reenter gives a step whose attempt has failed the priority with which it comes
// back, if it does.
func (e *Engine) reenter(w Work, t *task.Template, c failure.Class) {
	switch {
	case e.cfg.Recovery.BoostLevels == 0:
	case e.cfg.Recovery.RetryPriority != settings.RetryBoosted:
		w.Step.Priority = min(w.Step.Priority, ownLevel(w, t))
	case c == failure.Worker:
		w.Step.Priority = e.raised(w, t)
	}
}

// raised is the level of a step that has lost its worker once more: that of the next
// named level above, but no more named levels above its own than are allowed.
func (e *Engine) raised(w Work, t *task.Template) int {
	own, left := ownLevel(w, t), e.cfg.Recovery.BoostLevels
	for _, p := range slices.Backward(e.cfg.Priorities) { // lowest first
		if p.Level <= own {
			continue
		}
		if left--; left < 0 {
			break
		}
		if p.Level > w.Step.Priority {
			return p.Level
		}
	}
	return w.Step.Priority
}

// classFault says what is wrong with the class that a worker gave, or "".
func classFault(c failure.Class) string {
	if c == "" || c.Known() {
		return ""
	}
	return "must be transient, resource, logic or worker"
}
