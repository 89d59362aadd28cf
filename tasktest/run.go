package tasktest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Step is the step for a handler. Zero fields have defaults.
type Step struct {
	// Handler is the name of the step's handler. Defaults to the only handler of the worker.
	Handler string
	// Name is the name of the step. Defaults to Handler.
	Name string
	// Context is the context of the task, and ParentResults are the results of the direct dependencies by name:
	// anything that encodes to JSON. A json.RawMessage is used unchanged. Default to none.
	Context       any
	ParentResults map[string]any
	// Initialization of the step in its template.
	Initialization map[string]any
	// Checkpoint of an earlier attempt: anything that encodes to JSON. Defaults to none.
	Checkpoint any
	// Attempt counts from 1. Defaults to 1.
	Attempt int
	// MaxAttempts defaults to 3.
	MaxAttempts int
	// Timeout is the time limit of the attempt, rounded up to seconds. Defaults to none.
	Timeout time.Duration
	// TaskUUID defaults to a random one, TaskName to Handler, Namespace to "default".
	TaskUUID  uuid.UUID
	TaskName  string
	Namespace string
	// CorrelationID and TraceParent of the task.
	CorrelationID string
	TraceParent   string
	// Interrupt ends the context of the handler after InterruptAfter: worker.ErrCancelled, worker.ErrLeaseLost or
	// worker.ErrDraining. Defaults to none.
	Interrupt      error
	InterruptAfter time.Duration
}

// Outcome is the result of an attempt.
type Outcome struct {
	// Status is that of the report to the server: protocol.ResultCompleted, ResultFailed, ResultSnoozed or ResultReleased.
	// It is "" if the worker reports nothing, because the task was cancelled or the lease lost.
	Status string
	// Result is the result as JSON; nil without one.
	Result json.RawMessage
	// Failure is set for ResultFailed.
	Failure *tasker.Failure
	// Snoozed is the delay of ResultSnoozed.
	Snoozed time.Duration
	// Progress are the reports of the handler, in order.
	Progress []Progress
	// Checkpoints of the handler, in order, as JSON.
	Checkpoints []json.RawMessage
	// Log is the handler's log.
	Log string
	// Took is the handler's run time.
	Took time.Duration
}

// Progress is one report of Job.Progress.
type Progress struct {
	Percent int
	Message string
}

// Decode unmarshals the result into out. Without a result it returns an error: the failure, if the step failed.
func (o *Outcome) Decode(out any) error {
	switch {
	case o.Failure != nil:
		return o.Failure
	case len(o.Result) == 0:
		return errors.New("the step has no result; its status is " + o.Status)
	}
	return json.Unmarshal(o.Result, out)
}

// Final reports whether the step failed permanently, whatever attempts are left.
func (o *Outcome) Final() bool {
	return o.Failure != nil && o.Failure.Retryable != nil && !*o.Failure.Retryable
}

// Run runs one attempt of a step with the handlers and the middleware that register gives to a worker, and returns when
// the handler has returned. It fails the test if the worker cannot run: no such handler, an invalid option, input that
// does not encode, a handler that does not return within 5 seconds after an Interrupt. A handler that returns an error
// or panics does not fail the test; see Outcome.
func Run(t testing.TB, register func(*worker.Worker), step Step) *Outcome {
	t.Helper()
	b := newBackend(step.Interrupt)
	opts := worker.Options{Name: "tasktest", Concurrency: 1, DrainTimeout: -1, HeartbeatInterval: time.Hour,
		Logger: slog.New(slog.DiscardHandler)}
	if b.interrupted != "" { // by a heartbeat
		opts.HeartbeatInterval = max(step.InterruptAfter, time.Millisecond)
	}
	w := worker.New(tasker.NewClient(b), &opts)
	w.Use(b.measure)
	register(w)
	if names := w.Handlers(); step.Handler == "" && len(names) == 1 {
		step.Handler = names[0]
	} else if !slices.Contains(names, step.Handler) {
		t.Fatalf("the worker has no handler %q; it has %q", step.Handler, names)
	}
	var err error
	if b.step, err = step.assignment(); err != nil {
		t.Fatalf("encode the input of the step: %v", err)
	}
	out, err := b.run(w, errors.Is(step.Interrupt, worker.ErrDraining), step.InterruptAfter)
	if err != nil {
		t.Fatalf("run a worker: %v", err)
	}
	return out
}

// RunHandler is Run for a single handler, such as worker.Typed(fn).
func RunHandler(t testing.TB, h worker.Handler, step Step, opts ...worker.HandlerOption) *Outcome {
	t.Helper()
	if step.Handler == "" {
		step.Handler = "handler"
	}
	return Run(t, func(w *worker.Worker) { w.Handle(step.Handler, h, opts...) }, step)
}

// assignment is the step as a server hands it out.
func (s *Step) assignment() (protocol.Assignment, error) {
	a := protocol.Assignment{StepUUID: uuid.New(), TaskUUID: s.TaskUUID, Token: "1", State: tasker.StepInProgress,
		Namespace: cmp.Or(s.Namespace, "default"), TaskName: cmp.Or(s.TaskName, s.Handler),
		StepName: cmp.Or(s.Name, s.Handler), Handler: s.Handler,
		Attempt: cmp.Or(s.Attempt, 1), MaxAttempts: cmp.Or(s.MaxAttempts, 3), Initialization: s.Initialization,
		CorrelationID: s.CorrelationID, TraceParent: s.TraceParent,
		TimeoutSeconds: int(math.Ceil(s.Timeout.Seconds()))}
	if a.TaskUUID == uuid.Nil {
		a.TaskUUID = uuid.New()
	}
	var err error
	if a.Parameters, err = encode(s.Context); err != nil {
		return a, fmt.Errorf("context: %w", err)
	}
	if a.Checkpoint, err = encode(s.Checkpoint); err != nil {
		return a, fmt.Errorf("checkpoint: %w", err)
	}
	for name, result := range s.ParentResults {
		raw, err := encode(result)
		if err != nil {
			return a, fmt.Errorf("result of parent %s: %w", name, err)
		}
		if a.ParentResults == nil {
			a.ParentResults = map[string]json.RawMessage{}
		}
		a.ParentResults[name] = raw
	}
	return a, nil
}

func encode(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return v, nil
	}
	return json.Marshal(v)
}
