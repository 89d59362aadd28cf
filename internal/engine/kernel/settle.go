package kernel

import (
	"context"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ResultStatus is the outcome that a worker reports.
type ResultStatus string

// The statuses of results.
const (
	ResultCompleted ResultStatus = "completed"
	ResultFailed    ResultStatus = "failed"
	ResultReleased  ResultStatus = "released" // no attempt charged
	ResultSnoozed   ResultStatus = "snoozed"  // retried later; no attempt charged
)

// Result settles one step. It uses only the fields of its status.
type Result struct {
	Step   task.ID
	Token  int64
	Status ResultStatus
	Result []byte // JSON; for completed
	// Large replaces Result by a key: see Engine.SendLargeResult.
	Large   string
	Failure *task.Failure // for failed
	Snooze  time.Duration // for snoozed
	// Log is the end of the attempt's log, LogBytes the size of all of it.
	Log      string
	LogBytes int64
	Worker   int64        // reporting worker; 0: not known
	At       task.Instant // when the lease was handed out; 0: not known
}

func (r *Result) lease() LeaseRef {
	return LeaseRef{Step: r.Step, Token: r.Token, Worker: r.Worker, At: r.At}
}

// Answer is the effect of one result.
type Answer struct {
	Step        task.ID
	State       task.StepState
	NextRetryAt task.Instant
	Err         error // *task.Error: stale_token
}

// Settle settles steps in one durable transaction and answers in order. A stale token changes nothing. Results apply
// in order, so a second one of a step gets StaleToken. Invalid: no results, or a malformed one, which refuses the
// whole call. TooLarge: more than Limits.BatchItems.
func (e *Kernel) Settle(ctx context.Context, results []Result) ([]Answer, error) {
	if err := check.Batch("/results", len(results), e.Cfg.Limits.BatchItems); err != nil {
		return nil, err
	}
	var problems []task.Problem
	for i := range results {
		problems = append(problems, e.checkResult(&results[i], "/results/"+strconv.Itoa(i))...)
	}
	if len(problems) > 0 {
		return nil, check.Refusal("nothing was settled: the results are not valid", problems)
	}
	end := e.leaving(results)
	answers, err := e.settles.Do(ctx, results)
	end(answers)
	return answers, err
}

// checkResult returns problems below the pointer at, and trims a failure's texts.
func (e *Kernel) checkResult(r *Result, at string) []task.Problem {
	var problems []task.Problem
	bad := func(field, fault string) {
		if fault != "" {
			problems = append(problems, task.Problem{Location: at + "/" + field, Message: fault})
		}
	}
	switch r.Status {
	case ResultCompleted:
		bad("result", check.Payload(r.Result, e.Cfg.Limits.PayloadBytes))
		if task.LargeResultOf(r.Step, r.Result) != nil {
			bad("result", "is the reference to a large result of the step: name it in large_result")
		}
		if r.Large != "" && r.Result != nil {
			bad("large_result", "must not be combined with result")
		}
		bad("large_result", task.TextFault(r.Large, maxLargeKey))
	case ResultFailed:
		if r.Failure == nil {
			bad("error", "a failed step needs its error")
			break
		}
		bad("error/details", check.Payload(r.Failure.Details, e.Cfg.Limits.PayloadBytes))
		bad("error/class", classFault(r.Failure.Class))
		r.Failure.Trim()
	case ResultReleased:
	case ResultSnoozed:
		if r.Snooze < 0 || r.Snooze > task.MaxDelay {
			bad("snooze_seconds", "must be 0 to "+strconv.Itoa(int(task.MaxDelay.Seconds())))
		}
	default:
		bad("status", "must be completed, failed, released or snoozed")
	}
	return problems
}

// After an error no caller's steps are settled.
func (e *Kernel) runSettles(calls [][]Result) ([][]Answer, error) {
	var ids []task.ID
	for _, c := range calls {
		for _, r := range c {
			ids = append(ids, r.Step)
		}
	}
	out := make([][]Answer, len(calls))
	err := e.Write(context.Background(), "settle", func(u *Unit) error {
		works, err := u.Rows.Load(ids)
		if err != nil {
			return err
		}
		if err := u.gatherDependants(works, calls); err != nil {
			return err
		}
		n := 0
		for i, c := range calls {
			out[i] = make([]Answer, len(c))
			for j := range c {
				if out[i][j], err = u.settle(works[n], &c[j]); err != nil {
					return err
				}
				n++
			}
		}
		return nil
	})
	return out, err
}

// One query serves all results.
func (u *Unit) gatherDependants(works []Work, calls [][]Result) error {
	var done []*task.Step
	n := 0
	for _, c := range calls {
		for _, r := range c {
			if s := works[n].Step; s != nil && r.Status == ResultCompleted && u.leases.inForce(s, r.lease()) {
				done = append(done, s)
			}
			n++
		}
	}
	return u.Rows.gatherAll(done, u.Rows.children)
}

// The error is the transaction's; the item's own is in the Answer.
func (u *Unit) settle(w Work, r *Result) (Answer, error) {
	a := Answer{Step: r.Step}
	if w.Step == nil || !u.leases.inForce(w.Step, r.lease()) {
		a.Err = notInForce(w.Step, r.lease())
		if w.Step != nil && r.Token != 0 {
			a.State = w.Step.State
		}
		u.Observed.refused()
		return a, nil
	}
	result := r.Result
	if r.Large != "" && r.Status == ResultCompleted {
		large, err := takeLarge(u, r)
		if err != nil || large == nil {
			a.State, a.Err = w.Step.State, noLargeResult(r)
			return a, err
		}
		result = large.Reference()
	}
	if err := u.beginIfAssigned(w, r.Status); err != nil {
		return a, err
	}
	if r.Log != "" {
		recordLog(u, w, r)
	}
	err := u.apply(w, r, result)
	a.State = w.Step.State
	if w.Step.Queue == task.Timers {
		a.NextRetryAt = task.Instant(w.Step.Key)
	}
	return a, err
}

func (u *Unit) apply(w Work, r *Result, result []byte) error {
	switch r.Status {
	case ResultCompleted:
		return u.complete(w, result)
	case ResultFailed:
		return u.fail(w, task.Failed, r.Failure)
	case ResultSnoozed:
		return returns{u}.handBack(w, task.Snoozed, r.Snooze)
	default:
		return returns{u}.handBack(w, task.Released, 0)
	}
}

// A worker that polls in two phases may skip the start of a short step.
func (u *Unit) beginIfAssigned(w Work, status ResultStatus) error {
	s := w.Step
	if s.State != task.StepAssigned || status == ResultReleased || status == ResultSnoozed {
		return nil
	}
	u.Observed.started(s)
	if err := s.Begin(u.Now, u.Now.Add(u.E.Cfg.Leases.Lease())); err != nil {
		return err
	}
	u.Observed.stepMoved(w, task.StepAssigned)
	return nil
}

// Cancelling ends all leases, so a result in force belongs to a live task.
func (u *Unit) complete(w Work, result []byte) error {
	from := w.Step.State
	if _, err := u.E.Points.attemptEnded(u, w, ending{outcome: task.Completed, worker: w.Step.WorkerNo}); err != nil {
		return err
	}
	if err := w.Step.Succeed(u.Now, result); err != nil {
		return err
	}
	u.Observed.completed(w)
	u.Moved(w, from)
	t, err := u.Rows.Template(w.Step.DefID)
	if err != nil {
		return err
	}
	return u.Satisfied(w, t)
}

func (u *Unit) fail(w Work, outcome task.Outcome, f *task.Failure) error {
	return u.failAfter(w, outcome, f, 0)
}

// The order matters: the failure has the priority of the attempt, the queue the new one. A feature may spare the
// step: then the attempt does not count.
func (u *Unit) failAfter(w Work, outcome task.Outcome, f *task.Failure, wait time.Duration) error {
	t, err := u.Rows.Template(w.Step.DefID)
	if err != nil {
		return err
	}
	f.Class = task.ClassOf(f)
	attempt := w.Step.EndAttempt(u.Now, outcome, f)
	spared, err := u.E.Points.attemptEnded(u, w, ending{outcome, attempt.WorkerNo, attempt.AssignedAt, f, t})
	if err != nil {
		return err
	}
	from := w.Step.State
	u.E.reenter(w, t, f.Class)
	if spared {
		// The step waits as after any failure, so that another is tried next.
		delay := u.delay(w.Step, t, f) + wait
		w.Step.Uncharge()
		err = w.Step.Postpone(u.Now, u.Now.Add(delay), u.Order)
		u.recalculate(w)
	} else if f.Retryable && w.Step.Attempts < u.E.allowed(w, t, f.Class) {
		err = w.Step.Postpone(u.Now, u.Now.Add(u.delay(w.Step, t, f)+wait), u.Order)
		u.recalculate(w)
		w.Step.Timeout = u.E.Cfg.Recovery.Growth().Next(w.Step.Timeout, f.Class)
	} else {
		err = w.Step.Exhaust(u.Now)
	}
	if err != nil {
		return err
	}
	u.ended(w, from, attempt)
	return nil
}

func (u *Unit) ended(w Work, from task.StepState, a task.Attempt) {
	a.After = w.Step.State
	u.Records.Attempts = append(u.Records.Attempts, a)
	u.Observed.ended(w, a)
	u.Moved(w, from)
}

// A policy without a cap takes that of the priority. A Retry-After may lengthen the delay.
func (u *Unit) delay(s *task.Step, t *task.Template, f *task.Failure) time.Duration {
	policy := u.E.RetryOf(t.Spec(s))
	if policy.Max == 0 {
		policy.Max = u.E.LevelAt(s.Priority).MaxRetryDelay
	}
	return policy.DelayAfter(f, s.Attempts, u.E.roll())
}

// The step is ready at until; no attempt counts.
func (u *Unit) uncharged(w Work, outcome task.Outcome, until task.Instant) error {
	attempt := w.Step.EndAttempt(u.Now, outcome, nil)
	if _, err := u.E.Points.attemptEnded(u, w, ending{outcome: outcome, worker: attempt.WorkerNo,
		since: attempt.AssignedAt}); err != nil {
		return err
	}
	from := w.Step.State
	w.Step.Uncharge()
	if err := w.Step.Postpone(u.Now, until, u.Order); err != nil {
		return err
	}
	u.recalculate(w)
	u.ended(w, from, attempt)
	return nil
}
