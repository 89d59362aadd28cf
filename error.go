package tasker

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code classifies an error. The list is closed. JSON carries the same words, and each code has one HTTP status.
type Code string

// The codes, from errors of the caller to errors of the server.
const (
	CodeInvalid         Code = "invalid"         // the request breaks a rule; nothing was stored
	CodeTooLarge        Code = "too_large"       // a body, payload, batch or page exceeds its limit
	CodeUnauthenticated Code = "unauthenticated" // no key, or an unknown one
	CodeForbidden       Code = "forbidden"       // the key lacks the permission
	CodeNotFound        Code = "not_found"       // no such task, step, template or worker
	CodeConflict        Code = "conflict"        // the object exists with other content
	CodeWrongState      Code = "wrong_state"     // the object's state does not allow the act
	CodeStaleToken      Code = "stale_token"     // the lease was lost: another worker holds the step, or it is settled
	CodeExhausted       Code = "exhausted"       // the server reached a limit; try again later
	CodeUnavailable     Code = "unavailable"     // the store does not answer, or the server is stopping; try again later
	CodeInternal        Code = "internal"        // a bug; the detail is in the server's log
)

// Temporary reports whether a call that failed with the code may succeed later without a change by an operator.
func (c Code) Temporary() bool {
	switch c {
	case CodeUnavailable, CodeExhausted, CodeInternal:
		return true
	}
	return false
}

// Error is the only error type of the API. It carries no internal detail and may be shown to users. Compare codes
// with ErrorCode or errors.Is, never messages: these may change in any release.
type Error struct {
	Code    Code     `json:"code"`
	Message string   `json:"message"`
	Hint    string   `json:"hint,omitempty"`
	Details []Detail `json:"details,omitempty"`

	// RetryAfter is the server's minimal pause before the next try; 0 means no advice. It travels as the header
	// Retry-After, and for an item of a batch as RetryAfterSeconds.
	RetryAfter        time.Duration `json:"-"`
	RetryAfterSeconds float64       `json:"retry_after_seconds,omitempty" doc:"For a refused item: time to wait before the next try."`
	// Err is the local cause, such as a network error of the SDK. It never travels and is not printed.
	Err error `json:"-"`
}

// Detail locates one problem by a JSON pointer into a body ("/tasks/3/context"), or by file:line:column for YAML.
type Detail struct {
	Location string `json:"location,omitempty"`
	Message  string `json:"message"`
}

// Errorf returns an Error without details.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	for _, d := range e.Details {
		b.WriteString("\n  ")
		if d.Location != "" {
			b.WriteString(d.Location + ": ")
		}
		b.WriteString(d.Message)
	}
	if e.Hint != "" {
		b.WriteString("\n  hint: " + e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, &Error{Code: CodeNotFound}) compare codes.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// ErrorCode returns the code of the first *Error in the chain of err, CodeInternal for any other error, and "" for
// nil.
func ErrorCode(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// ErrorRetryAfter returns the server's minimal pause before the next try; 0 means no advice.
func ErrorRetryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// ErrClosed is in the chain of every error of a closed Client.
var ErrClosed = errors.New("client is closed")
