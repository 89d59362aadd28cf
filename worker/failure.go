package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
)

// Limits of a stored failure; the server cuts at the same sizes.
const (
	maxFailureWord    = 255
	maxFailureMessage = 8 << 10
	maxFailureStack   = 32 << 10
	maxFailureBody    = 8 << 10
)

// NonRetryable marks err as final: the step fails for good, whatever attempts are left. It returns nil for
// nil.
func NonRetryable(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// WithClass sets the class of err, which decides how often the step is retried. It returns nil
// for a nil err. A class that the server does not know is dropped. Without a class the server
// derives one from the failure's code and type; what they do not tell is transient.
func WithClass(c tasker.FailureClass, err error) error {
	if err == nil {
		return nil
	}
	return &classError{err, c}
}

// RetryAfter fails the attempt with err and delays the next attempt by at least d. Use it for a
// Retry-After header. It returns nil for a nil err. A negative d counts as 0. The step's own
// back-off applies if it is longer.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &laterError{err, d}
}

// Snooze returns the step to the queue, to run again after d. It charges no attempt, so that a handler can wait for an
// outside condition: up to 10,000 times in a row, unless the server is configured otherwise. A negative d counts as 0.
// The deadline of the task still applies.
func Snooze(d time.Duration) error { return &snoozeError{d} }

// permanentError marks an error as final. Like the two types below it is transparent: its text
// is that of the marked error, and errors.Is and errors.As see through it.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// laterError carries the earliest time of the next attempt, relative to the end of this one.
type laterError struct {
	err   error
	after time.Duration
}

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// classError carries the class of a failure.
type classError struct {
	err   error
	class tasker.FailureClass
}

func (e *classError) Error() string { return e.err.Error() }
func (e *classError) Unwrap() error { return e.err }

// snoozeError asks for another run later. It wraps nothing, because it is no failure.
type snoozeError struct{ after time.Duration }

func (e *snoozeError) Error() string { return "snooze for " + e.after.String() }

// panicError is the panic of a handler.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprint(e.value) }

// failureOf converts err to the Failure that the server stores. A Failure in the chain of err adds the
// details that only the handler knows.
func failureOf(err error) *tasker.Failure {
	f := &tasker.Failure{}
	var given *tasker.Failure
	if errors.As(err, &given) && given != nil {
		*f = *given
	}
	f.Message = err.Error()
	var panicked *panicError
	if errors.As(err, &panicked) {
		f.Type, f.Stack = "panic", string(panicked.stack)
	}
	var own *tasker.Error
	if errors.As(err, &own) && f.Code == "" {
		f.Code = string(own.Code)
	}
	if f.Type == "" {
		f.Type = typeName(err)
	}
	var permanent *permanentError
	if errors.As(err, &permanent) {
		final := false
		f.Retryable = &final
	}
	var classed *classError
	if errors.As(err, &classed) {
		f.Class = classed.class
	}
	var later *laterError
	if errors.As(err, &later) {
		f.RetryAfterSeconds = max(later.after.Seconds(), 0)
	}
	return bounded(f)
}

// bounded cuts the fields that exceed a limit and repairs those that JSON cannot carry, so that one unusual
// error does not get a whole batch of results refused.
func bounded(f *tasker.Failure) *tasker.Failure {
	f.Type = cut(f.Type, maxFailureWord)
	f.Code = cut(f.Code, maxFailureWord)
	f.Message = cut(f.Message, maxFailureMessage)
	f.Stack = cut(f.Stack, maxFailureStack)
	f.ResponseBody = cut(f.ResponseBody, maxFailureBody)
	switch f.Class {
	case tasker.ClassTransient, tasker.ClassResource, tasker.ClassLogic, tasker.ClassWorker:
	default:
		f.Class = ""
	}
	if len(f.Details) > 0 && !json.Valid(f.Details) {
		f.Details, _ = json.Marshal(string(f.Details)) // a string always marshals
	}
	return f
}

// cut shortens s to limit bytes and replaces bytes that are not UTF-8, among them half a
// character at the end.
func cut(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// typeName is the Go type of the first error in the chain that is more than a formatted text.
func typeName(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		switch err.(type) { //nolint:errorlint // the loop unwraps
		case *permanentError, *laterError, *classError, *tasker.Failure:
			continue
		}
		switch name := fmt.Sprintf("%T", err); name {
		case "*errors.errorString", "*fmt.wrapError", "*fmt.wrapErrors", "*errors.joinError":
		default:
			return name
		}
	}
	return "error"
}
