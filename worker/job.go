package worker

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/pointer"
	"github.com/taskerhq/tasker/worker/protocol"
)

// The causes that end the context of a handler; see context.Cause.
var (
	// ErrTimedOut means that the attempt exceeded the step's timeout. The attempt fails, unless the handler still
	// succeeds.
	ErrTimedOut = errors.New("step timed out")
	// ErrCancelled means that the task was cancelled. The worker reports nothing.
	ErrCancelled = errors.New("task was cancelled")
	// ErrLeaseLost means that a server reported the lease as lost or did not renew it in time, so another worker may
	// hold the step. The worker reports nothing. While no server answers, the handler continues until the step's
	// timeout.
	ErrLeaseLost = errors.New("lease of the step was lost")
	// ErrDraining means that the worker must stop. Unless the handler succeeds, the worker returns the step without
	// charging an attempt.
	ErrDraining = errors.New("worker is stopping")
)

// Job is one step that a handler runs. A test can make a Job from an Assignment alone; no server receives its
// progress. It is valid while its handler runs, and safe for concurrent use by the handler's goroutines; its
// Assignment must not be changed.
type Job struct {
	protocol.Assignment

	session   *session
	base      stepContext
	ctx       context.Context
	cancel    context.CancelCauseFunc
	maxResult int
	maxLarge  int // bytes of a result that is kept apart; 0: the server keeps none
	maxLog    int // bytes of the log that the server keeps
	log       atomic.Pointer[jobLog]
	largeMu   sync.Mutex
	large     map[string]json.RawMessage // results of parents that were read from the server; guarded by largeMu
	batch     int
	timeout   time.Duration

	// The fields below are guarded by session.mu.

	deadline time.Time // on the worker's clock; zero: none, or it has passed
	leaseEnd time.Time // on the worker's clock; zero: leases do not end
	ended    bool
	dropped  bool // nothing more is reported
	refused  bool // the server refused the result once; a failure replaces it
	// message is that of a step that is returned unstarted, until answered.
	message *Delivery
}

type jobKey struct{}

// JobFrom returns the Job of the handler that received ctx, or nil outside of a handler.
func JobFrom(ctx context.Context) *Job {
	job, _ := ctx.Value(jobKey{}).(*Job)
	return job
}

// Decode unmarshals the context of the task into out, which stays unchanged without one. Errors are those of Context.
func (j *Job) Decode(out any) error {
	if len(j.Parameters) == 0 {
		return nil
	}
	return decodeInput(j.Parameters, out, "context", "the context of step "+j.StepName)
}

// ParentResult unmarshals the result of the direct dependency called name into out. Errors are those of the function
// ParentResult.
func (j *Job) ParentResult(name string, out any) error {
	raw, ok, err := j.Parent(name)
	if err != nil {
		return err
	}
	if !ok || len(raw) == 0 || string(raw) == "null" {
		return NonRetryable(tasker.Errorf(tasker.CodeNotFound, "step %s has no result of a parent %q", j.StepName, name))
	}
	return decodeInput(raw, out, "parent_results/"+pointer.Escape(name), "the result of step "+name)
}

// Progress reports 0 to 100 percent and renews the step's lease, with one request: do not call it in every turn of a
// tight loop. After ErrCancelled or ErrLeaseLost the handler's context has ended too; any other error is no reason to
// stop. Progress clamps percent, cuts message to 1 KiB and replaces its control characters.
func (j *Job) Progress(percent int, message string) error {
	if j.session == nil {
		return nil
	}
	return j.session.progress(j, percent, message)
}

// stepContext adds the Job and the deadline to the worker's context. It has no Done channel, so that a step needs no
// registration with a parent and no timer; the session ends the handler's context directly.
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
