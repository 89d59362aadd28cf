package redisqueue

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/failure"
)

// Permanent marks an error as one that another attempt would meet again: the job is not repeated. It returns nil for
// nil. The mark changes neither the text nor what errors.Is and errors.As find.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// HTTPError is an answer of a server that a handler called. A dead letter has its status and the beginning of its body.
type HTTPError struct {
	Status int    // such as 503
	Body   string // of the answer; as much as may be stored
	Err    error  // what it means; nil says the status in words
}

// Error returns the text of Err, or the status in words.
func (e *HTTPError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return strings.TrimSpace(fmt.Sprintf("HTTP status %d %s", e.Status, http.StatusText(e.Status)))
}

// Unwrap returns Err.
func (e *HTTPError) Unwrap() error { return e.Err }

// Stacked is what an error implements that knows the stack on which it arose. A dead letter has its beginning.
type Stacked interface{ Stack() string }

// panicError is the panic of a handler.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }
func (e *panicError) Stack() string { return e.stack }

// IsPermanent reports whether an error rules another attempt out: it is marked with Permanent; or it is an HTTPError
// with a status from 400 to 499, except those that ask to come again (408, 409, 423, 425, 429); or its method
// Retryable() bool says so; or it has a method Class() string that says "logic". The first of these in the chain of err
// that says anything decides. Everything else is worth another attempt.
func IsPermanent(err error) bool {
	report := failure.Report{Type: typeName(err), Retryable: true}
	if err != nil {
		classify(err, &report)
	}
	return failure.ClassOf(report) == failure.Logic
}

// again are the statuses below 500 after which a repetition may help.
var again = []int{http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly,
	http.StatusTooManyRequests}

// classify takes from the chain of an error what says whether to repeat it, and reports whether anything does.
func classify(err error, r *failure.Report) bool {
	for err != nil {
		switch e := err.(type) { //nolint:errorlint // the loop unwraps
		case *permanentError:
			r.Retryable = false
			return true
		case *HTTPError:
			r.Retryable = e.Status < 400 || e.Status > 499 || slices.Contains(again, e.Status)
			return true
		case interface{ Retryable() bool }:
			r.Retryable = e.Retryable()
			return true
		case interface{ Class() string }:
			if r.Class = failure.Class(e.Class()); r.Class.Known() {
				return true
			}
		case interface{ Unwrap() []error }:
			return slices.ContainsFunc(e.Unwrap(), func(err error) bool { return classify(err, r) })
		}
		err = errors.Unwrap(err)
	}
	return false
}

// typeName returns the type of the first error in a chain whose type says something.
func typeName(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		switch err.(type) { //nolint:errorlint // the loop unwraps
		case *permanentError:
			continue
		case *panicError:
			return "panic"
		}
		switch name := fmt.Sprintf("%T", err); name {
		case "*errors.errorString", "*fmt.wrapError", "*fmt.wrapErrors", "*errors.joinError":
		default:
			return name
		}
	}
	return "error"
}
