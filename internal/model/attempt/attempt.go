// Package attempt runs a function of an application once and reads from its error whether to repeat it.
package attempt

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/taskerhq/tasker/internal/model/failure"
)

// Run calls fn. A panic is an error whose type is "panic" and that has a stack.
func Run(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, string(debug.Stack())}
		}
	}()
	return fn()
}

type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }
func (e *panicError) Stack() string { return e.stack }

// Stack returns the stack of the first error in a chain that has a method Stack() string; "" if none has.
func Stack(err error) string {
	var stacked interface{ Stack() string }
	if errors.As(err, &stacked) {
		return stacked.Stack()
	}
	return ""
}

// Permanent marks an error that another attempt would repeat. It returns nil for nil. The mark changes neither the
// text nor what errors.Is and errors.As find.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// IsPermanent reports whether an error rules out another attempt: Permanent marked it, its method Retryable() bool
// returns false, or its method Class() string returns "logic". The first error in the chain with one of these
// decides.
func IsPermanent(err error) bool {
	report := failure.Report{Type: TypeName(err), Retryable: true}
	if err != nil {
		classify(err, &report)
	}
	return failure.ClassOf(report) == failure.Logic
}

// classify reads from the chain whether to repeat the error, and reports whether the chain decides it.
func classify(err error, r *failure.Report) bool {
	for err != nil {
		switch e := err.(type) { //nolint:errorlint // the loop unwraps
		case *permanentError:
			r.Retryable = false
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

// TypeName returns the first specific type in the chain of an error.
func TypeName(err error) string {
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
