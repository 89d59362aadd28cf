package worker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker"
)

// Handler runs one step. Its return value is marshalled to JSON and becomes the step's result, which
// dependent steps can read; nil means no result, and a json.RawMessage is stored unchanged.
//
// An error fails the attempt, and the step's retry policy decides what follows. See NonRetryable, WithClass,
// RetryAfter and Snooze; return a *Failure (or wrap one) to set an application's code, an HTTP status or a
// response body. A panic fails the attempt too, with its stack in the failure.
//
// ctx ends when the step times out, its task is cancelled, its lease is lost or the worker must stop;
// context.Cause returns which. The deadline of ctx is the step's. Delivery is at least once: a Handler should
// be idempotent.
type Handler func(ctx context.Context, job *Job) (any, error)

// Typed returns fn as a Handler. It decodes the step's context into an In; a context that does not fit fails the step
// for good, because no retry can fix it, and the failure says where (see Context). JobFrom gives fn the rest of the
// step.
func Typed[In, Out any](fn func(ctx context.Context, in In) (Out, error)) Handler {
	return func(ctx context.Context, job *Job) (any, error) {
		in, err := Context[In](job)
		if err != nil {
			return nil, err
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return out, nil
	}
}

// Handle registers fn as w's handler called name: it is w.Handle(name, Typed(fn), opts...).
func Handle[In, Out any](w *Worker, name string, fn func(ctx context.Context, in In) (Out, error),
	opts ...HandlerOption,
) {
	if fn == nil {
		w.Handle(name, nil, opts...)
		return
	}
	w.Handle(name, Typed(fn), opts...)
}

// encodeResult marshals the return value of a handler. It checks a RawMessage, because the server would
// refuse an invalid one together with the results of other steps.
func encodeResult(out any) (json.RawMessage, error) {
	switch v := out.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		if len(v) > 0 && !json.Valid(v) {
			return nil, NonRetryable(&tasker.Failure{Type: "invalid_result", Message: "the handler's result is not JSON"})
		}
		return v, nil
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, NonRetryable(&tasker.Failure{Type: "invalid_result", Message: fmt.Sprintf("marshal result: %v", err)})
	}
	return raw, nil
}
