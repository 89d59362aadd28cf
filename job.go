package tasker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The causes for which the context of a handler ends; see context.Cause.
var (
	// ErrTimedOut: the attempt ran longer than the step's timeout. What the
	// handler returns is reported as a failed attempt, unless it succeeded after all.
	ErrTimedOut = errors.New("step timed out")
	// ErrCancelled: the task was cancelled. Nothing is reported.
	ErrCancelled = errors.New("task was cancelled")
	// ErrLeaseLost: a server says that the lease is over, or did not renew it until
	// its end, so another worker may have the step by now. Nothing is reported. While
	// no server answers at all, the handler goes on until the step's time-out.
	ErrLeaseLost = errors.New("lease of the step was lost")
	// ErrDraining: the worker must stop. Unless the handler succeeds, the step is
	// given back with no attempt charged.
	ErrDraining = errors.New("worker is stopping")
)

// Job is one step in the hands of a handler. A Job made by hand, with just an
// Assignment, serves to test a handler; it reports its progress to nobody.
type Job struct {
	Assignment

	shift     *shift
	base      stepContext
	ctx       context.Context
	cancel    context.CancelCauseFunc
	maxResult int // bytes; 0 means unlimited
	wave      int // the accept that brought it

	// Below: guarded by shift.mu.

	deadline time.Time // on our clock; zero when there is none, or it has passed
	leaseEnd time.Time // on our clock; zero when leases do not end
	ended    bool      // the handler has returned
	dropped  bool      // nothing is to be reported any more
	refused  bool      // the result was refused once, a failure takes its place
}

type jobKey struct{}

// JobFrom returns the Job of the handler that ctx was given to, nil outside of
// a handler.
func JobFrom(ctx context.Context) *Job {
	job, _ := ctx.Value(jobKey{}).(*Job)
	return job
}

// Decode unmarshals the step's parameters into out. No parameters leave out as
// it is.
func (j *Job) Decode(out any) error {
	if len(j.Parameters) == 0 {
		return nil
	}
	if err := json.Unmarshal(j.Parameters, out); err != nil {
		return fmt.Errorf("decode parameters of step %s: %w", j.StepName, err)
	}
	return nil
}

// ParentResult unmarshals the result of the direct dependency named name into
// out. CodeNotFound means that it has none: it is no dependency, returned
// nothing, or was resolved manually.
func (j *Job) ParentResult(name string, out any) error {
	raw, ok := j.ParentResults[name]
	if !ok || len(raw) == 0 || string(raw) == "null" {
		return Errorf(CodeNotFound, "step %s has no result of a parent %q", j.StepName, name)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("decode result of step %s: %w", name, err)
	}
	return nil
}

// Progress tells how far the step is, 0 to 100, and renews its lease. It is one
// request, so report now and then, not in every turn of a tight loop. When it
// returns ErrCancelled or ErrLeaseLost the handler's context has ended too; any
// other error is no reason to stop.
func (j *Job) Progress(percent int, message string) error {
	if j.shift == nil {
		return nil
	}
	return j.shift.progress(j, percent, message)
}

// stepContext is the parent of a handler's context: what it adds to the values
// of the worker's context is the Job and the deadline. It has no Done channel,
// so that a step costs no registration with a parent and no timer; the
// shift ends the handler's context itself.
type stepContext struct {
	context.Context
	job *Job
	due time.Time
}

func (c *stepContext) Deadline() (time.Time, bool) { return c.due, !c.due.IsZero() }

func (c *stepContext) Value(key any) any {
	if key == (jobKey{}) {
		return c.job
	}
	return c.Context.Value(key)
}
