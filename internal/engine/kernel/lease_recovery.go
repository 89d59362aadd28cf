package kernel

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// See docs/design/0013-recovery.md.

type leaseOutcome int

const (
	spared     leaseOutcome = iota // kept: no process could receive heartbeats
	stepped                        // kept: only a clock step made it look expired
	notStarted                     // assigned, not started in time
	timedOut                       // started, longer than its time-out
	lostEarly                      // no heartbeat; not charged
	lostLate                       // no heartbeat; charged
)

// leaseOutcome checks the time-out first: it holds even when no heartbeat could arrive.
func (u *Unit) leaseOutcome(s *task.Step) leaseOutcome {
	lease, deadline := u.realEnds(s)
	switch {
	case deadline != 0 && deadline <= u.Now:
		return timedOut
	case lease > u.Now:
		return stepped
	case s.State == task.StepAssigned:
		return notStarted
	case u.Now < u.E.Grace():
		return spared
	case u.lostEarly(s):
		return lostEarly
	default:
		return lostLate
	}
}

// realEnds corrects for a clock that was put forward since lease and attempt began (0: none runs).
func (u *Unit) realEnds(s *task.Step) (lease, deadline task.Instant) {
	lease = s.LeaseUntil.Add(u.E.Stepped(u.lastSign(s).Time()))
	if d := s.Deadline(); d != 0 {
		deadline = d.Add(u.E.Stepped(s.StartedAt.Time()))
	}
	return lease, deadline
}

func (u *Unit) lastSign(s *task.Step) task.Instant {
	if s.State == task.StepAssigned {
		return s.AssignedAt
	}
	return s.LeaseUntil.Add(-u.E.Cfg.Leases.Lease())
}

// lostEarly reports whether the worker vanished so early that the step is hardly to blame. One that reported progress
// or ran for longer may have brought its worker down.
func (u *Unit) lostEarly(s *task.Step) bool {
	early := float64(s.Timeout) * u.E.Cfg.Leases.FreeRequeueFraction
	return s.Progress == 0 && early > 0 && float64(u.lastSign(s).Sub(s.StartedAt)) < early
}

func (u *Unit) reapAll(works []Work) error {
	late, works, err := expiries{u}.undelivered(works)
	if err != nil {
		return err
	}
	if err := (expiries{u}).fail(late); err != nil {
		return err
	}
	waits := u.stagger(works)
	before, err := returns{u}.before(works)
	if err != nil {
		return err
	}
	for _, w := range works {
		if err := u.reap(w, waits[w.Step], before[w.Step.ID]); err != nil {
			return err
		}
	}
	return nil
}

func (u *Unit) reap(w Work, wait time.Duration, before task.Returns) error {
	s := w.Step
	switch u.leaseOutcome(s) {
	case spared:
		s.Renew(u.E.Grace())
		u.Moved(w, s.State)
		return nil
	case stepped:
		lease, deadline := u.realEnds(s)
		if deadline != 0 {
			lease = min(lease, deadline)
		}
		s.LookAt(lease)
		u.Moved(w, s.State)
		return nil
	case timedOut:
		return u.fail(w, task.TimedOut, &task.Failure{Type: "timeout", Code: "TIMEOUT", Retryable: true,
			Message: fmt.Sprintf("the attempt ran longer than its time-out of %s", s.Timeout)})
	case notStarted:
		return returns{u}.unstarted(w, wait, before, u.E.Cfg.Leases.FreeReturns,
			fmt.Sprintf("the worker did not start the step within %s", u.E.Cfg.Leases.StartTimeout))
	case lostEarly:
		if (returns{u}).free(before, u.E.Cfg.Leases.FreeReturns) {
			return u.lose(w, task.LeaseExpired, wait)
		}
	}
	before.Lost++
	return u.failAfter(w, task.LeaseExpired, lostFailure("lease_expired", before,
		fmt.Sprintf("no heartbeat for %s: the worker died or lost its connection", u.E.Cfg.Leases.Lease())), wait)
}

// recalculate orders a returning step by its total wait since submission or run_at, if so configured.
func (u *Unit) recalculate(w Work) {
	if u.E.Cfg.Recovery.RetryPriority == settings.RetryRecalculated {
		w.Step.Age(u.Now, max(w.Task.CreatedAt, w.Task.RunAt), u.Order)
	}
}

func (u *Unit) lose(w Work, outcome task.Outcome, wait time.Duration) error {
	t, err := u.Rows.Template(w.Step.DefID)
	if err != nil {
		return err
	}
	w.Step.Priority = u.E.raised(w, t)
	back := task.Instant(0)
	if wait > 0 {
		back = u.Now.Add(wait)
	}
	return u.uncharged(w, outcome, back)
}

// stagger returns steps of lost workers in the order of the queue, so that work handed out over a period does not
// return at one time. The gaps of a worker total at most Recovery.MaxStagger.
func (u *Unit) stagger(works []Work) map[*task.Step]time.Duration {
	cfg := u.E.Cfg.Recovery
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

// RetryOf is the retry policy of a step, without the values of its priority.
func (e *Kernel) RetryOf(spec task.StepSpec) task.Retry {
	return spec.Retry.Over(max(e.Cfg.Recovery.BaseDelay, 0), max(e.Cfg.Recovery.Jitter, 0))
}

func (e *Kernel) allowed(w Work, t *task.Template, c failure.Class) int {
	policy := t.Spec(w.Step).Retry
	// The stored number does not show its origin: one equal to that of the priority counts as that.
	chosen := policy.MaxAttempts > 0 || w.Step.MaxAttempts != e.LevelAt(ownLevel(w, t)).MaxRetries+1
	b := task.Budget{Attempts: w.Step.MaxAttempts, Chosen: chosen, Own: policy.Limits, Common: e.Cfg.Recovery.Common()}
	return b.After(c)
}

func ownLevel(w Work, t *task.Template) int {
	if own := t.Spec(w.Step).Priority; own != nil {
		return *own
	}
	return w.Task.Priority
}

func (e *Kernel) reenter(w Work, t *task.Template, c failure.Class) {
	switch {
	case e.Cfg.Recovery.BoostLevels == 0:
	case e.Cfg.Recovery.RetryPriority != settings.RetryBoosted:
		w.Step.Priority = min(w.Step.Priority, ownLevel(w, t))
	case c == failure.Worker:
		w.Step.Priority = e.raised(w, t)
	}
}

// raised is the next named level above, at most BoostLevels above the step's own, so that a task that keeps losing
// workers cannot rise above every other.
func (e *Kernel) raised(w Work, t *task.Template) int {
	own, left := ownLevel(w, t), e.Cfg.Recovery.BoostLevels
	for _, p := range slices.Backward(e.Cfg.Priorities) { // lowest first
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

func classFault(c failure.Class) string {
	if c == "" || c.Known() {
		return ""
	}
	return "must be transient, resource, logic or worker"
}
