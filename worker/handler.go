package worker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker"
)

// Handler runs one step. Its return value, marshalled to JSON, is the step's result, which dependent steps can read;
// nil means no result, and a json.RawMessage is stored unchanged.
//
// An error fails the attempt; then the step's retry policy applies. See NonRetryable, WithClass, RetryAfter and
// Snooze. Return or wrap a *Failure to set an application's code, an HTTP status or a response body. A panic fails
// the attempt with its stack.
//
// ctx has the step's deadline. It ends when the step times out, its task is cancelled, its lease is lost or the
// worker must stop; context.Cause returns which. Delivery is at least once: a Handler should be idempotent.
type Handler func(ctx context.Context, job *Job) (any, error)

// Typed returns fn as a Handler, which decodes the step's context into an In. A context that does not fit fails the
// step for good; the failure says where (see Context). JobFrom gives fn the rest of the step.
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

// Handle is w.Handle(name, Typed(fn), opts...).
func Handle[In, Out any](w *Worker, name string, fn func(ctx context.Context, in In) (Out, error),
	opts ...HandlerOption,
) {
	if fn == nil {
		w.Handle(name, nil, opts...)
		return
	}
	w.Handle(name, Typed(fn), opts...)
}

// encodeResult marshals a handler's return value. It checks a RawMessage, because the server would refuse an invalid
// one together with the results of other steps.
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
