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

// NonRetryable makes err final: the step fails whatever attempts are left. It returns nil for nil.
func NonRetryable(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// WithClass sets the class of err, which decides how often the step is retried. It returns nil for a nil err. The
// server drops a class that it does not define. Without a class it derives one from the code and type of the failure;
// transient is the default.
func WithClass(c tasker.FailureClass, err error) error {
	if err == nil {
		return nil
	}
	return &classError{err, c}
}

// RetryAfter fails the attempt with err and delays the next attempt by at least d, as for a Retry-After header. It
// returns nil for a nil err. A negative d counts as 0. The step's back-off applies if it is longer.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &laterError{err, d}
}

// Snooze returns the step to the queue, to run again after d. It charges no attempt, so that a handler can wait for
// an outside condition: up to 10,000 times in a row by default. A negative d counts as 0. The deadline of the task
// still applies.
func Snooze(d time.Duration) error { return &snoozeError{d} }

// permanentError marks an error as final. Like the next two types it keeps the text, and errors.Is and errors.As see
// through it.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

type laterError struct {
	err   error
	after time.Duration
}

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

type classError struct {
	err   error
	class tasker.FailureClass
}

func (e *classError) Error() string { return e.err.Error() }
func (e *classError) Unwrap() error { return e.err }

// snoozeError wraps nothing, because it is no failure.
type snoozeError struct{ after time.Duration }

func (e *snoozeError) Error() string { return "snooze for " + e.after.String() }

type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprint(e.value) }

// failureOf converts err to a stored Failure. A Failure in the chain of err adds the handler's details.
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

// bounded cuts long fields and repairs those that JSON cannot carry: otherwise the server would refuse a whole batch
// of results.
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

// cut shortens s to limit bytes and replaces bytes that are not UTF-8, such as half a character at the end.
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
