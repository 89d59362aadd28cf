package redisqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/taskerhq/tasker/internal/broker/redislist"
	"github.com/taskerhq/tasker/internal/model/attempt"
)

// Result is the result of a job.
type Result struct {
	Success bool `json:"success"`
	Result  any  `json:"result"` // of the function that succeeded
	// Error is the text of Err; "" after a success.
	Error      string `json:"error"`
	Attempts   int    `json:"attempts"` // made
	MovedToDLQ bool   `json:"moved_to_dlq"`
	// Err is the last error. While MovedToDLQ is false it also says why not: errors.Is finds ErrSpoolFull, or the error
	// of a context that ended. Then the caller keeps the job.
	Err error `json:"-"`
}

// HandlerOptions are the settings of a Handler.
type HandlerOptions struct {
	// Retry configures the attempts of a job.
	Retry RetryPolicy
	// Letters takes jobs that failed for good. Required.
	Letters *DeadLetters
	// Permanent decides which errors another attempt would meet again. Defaults to IsPermanent.
	Permanent func(error) bool
	// ContextQueues are queues whose lengths are in the context of a dead letter, as NAME_depth, besides
	// dlq_circuit_breaker_state. At most 16. They are read once a second at most; a server that does not answer within
	// 100 ms leaves them out.
	ContextQueues []string
	// Clock is the time; nil is the machine's.
	Clock Clock
	// Random returns a number from 0 to below 1 for the jitter. It is called concurrently. Defaults to math/rand.
	Random func() float64
}

func (o *HandlerOptions) setDefaults() error {
	if o.Letters == nil {
		return errors.New("HandlerOptions needs Letters")
	}
	o.Retry = o.Retry.withDefaults()
	if err := o.Retry.check(); err != nil {
		return err
	}
	if len(o.ContextQueues) > 16 {
		return fmt.Errorf("HandlerOptions.ContextQueues has %d queues; at most 16", len(o.ContextQueues))
	}
	for _, q := range o.ContextQueues {
		if err := redislist.CheckName(q); err != nil {
			return fmt.Errorf("HandlerOptions.ContextQueues: %w", err)
		}
	}
	if o.Permanent == nil {
		o.Permanent = IsPermanent
	}
	if o.Clock == nil {
		o.Clock = systemClock
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return nil
}

// Handler runs jobs with retries, and moves those that fail for good to the dead letters. It is safe for concurrent
// use.
type Handler struct {
	o        HandlerOptions
	snapshot *snapshot
}

// NewHandler returns a Handler.
func NewHandler(o HandlerOptions) (*Handler, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	return &Handler{o, newSnapshot(o)}, nil
}

// Do runs a function for a job of a queue until it succeeds, fails permanently, or has failed MaxAttempts times. A
// panic of the function is an error. Do also blocks between attempts.
//
// A job that failed for good becomes a dead letter; with Result.MovedToDLQ it is durable. If that is false after a
// failure, the caller must not acknowledge the job. When ctx ends, Do returns immediately, or when the function
// returns, and the job is no dead letter.
func (h *Handler) Do(ctx context.Context, queue string, job []byte,
	fn func(ctx context.Context) (any, error),
) Result {
	var t trial
	for {
		value, err := h.attempt(ctx, &t, fn)
		if err == nil {
			return t.succeeded(value)
		}
		if ctx.Err() != nil {
			return t.interrupted(ctx.Err())
		}
		delay, more := h.next(&t)
		if !more {
			break
		}
		if err := h.o.Clock.Sleep(ctx, delay); err != nil {
			return t.interrupted(err)
		}
	}
	if err := redislist.CheckKeys(h.o.Letters.o.Client, queue); err != nil {
		return t.kept(err)
	}
	l := h.letter(&t, queue, job)
	if _, err := h.o.Letters.write(ctx, l); err != nil {
		return t.kept(err)
	}
	return t.moved()
}

type trial struct {
	attempts    int
	delays      []time.Duration
	first, last time.Time // of failures
	err         error     // the last one
}

func (h *Handler) attempt(ctx context.Context, t *trial, fn func(context.Context) (any, error)) (value any, err error) {
	t.attempts++
	err = attempt.Run(func() (err error) {
		value, err = fn(ctx)
		return err
	})
	if err != nil {
		t.err, t.last = err, h.o.Clock.Now()
		if t.first.IsZero() {
			t.first = t.last
		}
	}
	return value, err
}

func (h *Handler) next(t *trial) (delay time.Duration, more bool) {
	if t.attempts >= h.o.Retry.MaxAttempts || h.o.Permanent(t.err) {
		return 0, false
	}
	delay = h.o.Retry.Delay(t.attempts, h.o.Random())
	t.delays = append(t.delays, delay)
	return delay, true
}

func (h *Handler) letter(t *trial, queue string, job []byte) *letter {
	f := JobFailure{Job: job, Error: t.err.Error(), Attempts: t.attempts, FirstFailedAt: t.first, LastFailedAt: t.last,
		Queue: queue, ErrorType: attempt.TypeName(t.err), StackTrace: attempt.Stack(t.err),
		RetryDelays: t.delays, Context: h.snapshot.take()}
	if f.RetryDelays == nil {
		f.RetryDelays = []time.Duration{}
	}
	var answer *HTTPError
	if errors.As(t.err, &answer) {
		f.HTTPStatus, f.ResponseBody = answer.Status, answer.Body
	}
	return &letter{queue: queue, job: job, body: f.Encode()}
}

func (t *trial) succeeded(value any) Result {
	return Result{Success: true, Result: value, Attempts: t.attempts}
}

func (t *trial) moved() Result {
	return Result{Error: t.err.Error(), Attempts: t.attempts, MovedToDLQ: true, Err: t.err}
}

// kept is the result of a failure that is no dead letter, because of why.
func (t *trial) kept(why error) Result {
	err := errors.Join(t.err, why)
	return Result{Error: err.Error(), Attempts: t.attempts, Err: err}
}

func (t *trial) interrupted(why error) Result {
	if errors.Is(t.err, why) {
		return Result{Error: t.err.Error(), Attempts: t.attempts, Err: t.err}
	}
	return t.kept(why)
}

// MarshalJSON writes the members success, result, error, attempts and moved_to_dlq; error is null after a success. It
// fails if Result cannot be written as JSON.
func (r Result) MarshalJSON() ([]byte, error) {
	var text *string
	if !r.Success {
		text = &r.Error
	}
	return json.Marshal(struct {
		Success    bool    `json:"success"`
		Result     any     `json:"result"`
		Error      *string `json:"error"`
		Attempts   int     `json:"attempts"`
		MovedToDLQ bool    `json:"moved_to_dlq"`
	}{r.Success, r.Result, text, r.Attempts, r.MovedToDLQ})
}
