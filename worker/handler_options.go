package worker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/taskerhq/tasker"
)

// Middleware wraps a Handler to act around every step: log, trace, measure, check, translate errors. Run makes the
// wrapper once for each handler; steps call it concurrently. It may change ctx, skip next, or call it again. A panic
// that it raises or does not recover fails the attempt. It sees the handler's Go value, before the conversion to
// JSON.
type Middleware func(next Handler) Handler

// Use adds middleware to all handlers of w, earlier and later ones. The first one is the outermost; WithMiddleware is
// innermost. A Run that has begun ignores later calls. It is safe for concurrent use.
func (w *Worker) Use(middleware ...Middleware) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.ContainsFunc(middleware, func(m Middleware) bool { return m == nil }) {
		w.misuse = append(w.misuse, tasker.Errorf(tasker.CodeInvalid, "middleware is nil"))
		return
	}
	w.middleware = append(w.middleware, middleware...)
}

// HandlerOption configures one handler of a worker; see Handle. It applies in that worker only, within the bounds of
// the template. An invalid value is an error of Run.
type HandlerOption func(*registered)

type registered struct {
	run         Handler
	middleware  []Middleware
	concurrency int
	timeout     time.Duration
	maxAttempts int
	pause       time.Duration // after the first attempt; 0: none
	maxPause    time.Duration
	misuse      []error
}

func (h *registered) refuse(format string, args ...any) {
	h.misuse = append(h.misuse, tasker.Errorf(tasker.CodeInvalid, format, args...))
}

// WithMiddleware adds middleware to one handler, inside that of Worker.Use.
func WithMiddleware(middleware ...Middleware) HandlerOption {
	return func(h *registered) {
		for _, m := range middleware {
			if m == nil {
				h.refuse("WithMiddleware of nil")
				return
			}
		}
		h.middleware = append(h.middleware, middleware...)
	}
}

// WithConcurrency gives a handler n separate slots, in addition to Options.Concurrency: at most n of its steps run at
// once in this worker. Handlers with and without separate slots never wait for each other, and the worker claims only
// steps that it can start.
//
// To the server the handler is a separate worker named NAME/HANDLER, which an operator can drain or cordon alone; Run
// ends when all have ended. To bound the steps on all workers, set a limit in the template.
func WithConcurrency(n int) HandlerOption {
	return func(h *registered) {
		if n <= 0 {
			h.refuse("WithConcurrency(%d): it needs at least one slot", n)
		}
		h.concurrency = n
	}
}

// WithTimeout bounds an attempt of the handler to d. The step's timeout applies too: the earlier one ends the attempt
// with the cause ErrTimedOut, and the failure counts as a timeout.
func WithTimeout(d time.Duration) HandlerOption {
	return func(h *registered) {
		if d <= 0 {
			h.refuse("WithTimeout(%v): it must be positive", d)
		}
		h.timeout = d
	}
}

// WithMaxAttempts makes the errors of attempt n and later ones final. The step's retry policy applies too, so n can
// only lower the number of attempts. Attempts count from 1 since the last reset of the step, without those that a
// stop of the worker or a Snooze ended. The server decides about an attempt whose worker died. A failure without a
// class becomes transient, not logic: only the number of attempts is final.
func WithMaxAttempts(n int) HandlerOption {
	return func(h *registered) {
		if n <= 0 {
			h.refuse("WithMaxAttempts(%d): it needs at least one attempt", n)
		}
		h.maxAttempts = n
	}
}

// WithBackoff delays the next attempt by at least base after the first one, and twice as long after each further one,
// up to limit. The step's back-off applies if it is longer. A RetryAfter error keeps its delay.
func WithBackoff(base, limit time.Duration) HandlerOption {
	return func(h *registered) {
		if base <= 0 || limit < base {
			h.refuse("WithBackoff(%v, %v): the first must be positive, the second not less", base, limit)
		}
		h.pause, h.maxPause = base, limit
	}
}

func (h *registered) backoff(attempt int) time.Duration {
	pause := h.pause
	for ; attempt > 1 && pause < h.maxPause; attempt-- {
		pause *= 2
	}
	return min(pause, h.maxPause)
}

// apply completes the failure of an attempt with the options. h may be nil.
func (h *registered) apply(f *tasker.Failure, attempt int) {
	if h == nil || (f.Retryable != nil && !*f.Retryable) {
		return
	}
	if h.maxAttempts > 0 && attempt >= h.maxAttempts {
		final := false
		f.Retryable = &final
		if f.Class == "" {
			f.Class = tasker.ClassTransient
		}
		return
	}
	if h.pause > 0 && f.RetryAfterSeconds == 0 {
		f.RetryAfterSeconds = h.backoff(attempt).Seconds()
	}
}

// wrapped returns the handler within all middleware. A panic while wrapping is an error.
func (h *registered) wrapped(name string, outer []Middleware) (_ *registered, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = tasker.Errorf(tasker.CodeInvalid, "the middleware of handler %q panicked: %v", name, value)
		}
	}()
	out := *h
	for _, m := range slices.Backward(slices.Concat(outer, h.middleware)) {
		if out.run = m(out.run); out.run == nil {
			return nil, tasker.Errorf(tasker.CodeInvalid, "the middleware of handler %q returned nil", name)
		}
	}
	return &out, nil
}

type handlerGroup struct {
	name        string
	concurrency int
	handlers    map[string]*registered
}

// groups returns the handlers that share the worker's slots, if any, and each with separate slots.
func (w *Worker) groups() ([]handlerGroup, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	misuse := slices.Clone(w.misuse)
	shared := handlerGroup{w.opts.Name, w.opts.Concurrency, map[string]*registered{}}
	var own []handlerGroup
	for _, name := range slices.Sorted(maps.Keys(w.handlers)) {
		h, err := w.handlers[name].wrapped(name, w.middleware)
		switch {
		case err != nil:
			misuse = append(misuse, err)
		case h.concurrency > 0:
			full := cut(fmt.Sprintf("%s/%s", w.opts.Name, name), maxFailureWord)
			own = append(own, handlerGroup{full, h.concurrency, map[string]*registered{name: h}})
		default:
			shared.handlers[name] = h
		}
	}
	switch {
	case len(misuse) > 0:
		return nil, errors.Join(misuse...)
	case len(w.handlers) == 0:
		return nil, tasker.Errorf(tasker.CodeInvalid, "worker %s has no handlers", w.opts.Name)
	case len(shared.handlers) == 0:
		return own, nil
	}
	return append([]handlerGroup{shared}, own...), nil
}
