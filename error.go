package tasker

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code classifies an error. The list is closed; the same words travel in JSON,
// and each one has one HTTP status, so that a code survives the wire.
type Code string

// The codes, from the caller's fault to ours.
const (
	CodeInvalid         Code = "invalid"         // the request breaks a rule; nothing was stored
	CodeTooLarge        Code = "too_large"       // a body, payload, batch or page is over its limit
	CodeUnauthenticated Code = "unauthenticated" // no key, or an unknown one
	CodeForbidden       Code = "forbidden"       // the key lacks the permission
	CodeNotFound        Code = "not_found"       // no such task, step, template, worker
	CodeConflict        Code = "conflict"        // the thing exists with other content
	CodeWrongState      Code = "wrong_state"     // the act is not allowed in the state the thing is in
	CodeStaleToken      Code = "stale_token"     // the lease was lost: somebody else holds the step, or it is settled
	CodeExhausted       Code = "exhausted"       // a limit of the server is reached; try again later
	CodeUnavailable     Code = "unavailable"     // the store does not answer, or the server is stopping; try again later
	CodeInternal        Code = "internal"        // a bug; the detail is in the server's log
)

// Error is the one error type of the API. It is safe to show to the caller:
// internal detail never rides in it.
type Error struct {
	Code    Code     `json:"code"`
	Message string   `json:"message"`           // what was wrong, in one sentence
	Hint    string   `json:"hint,omitempty"`    // what to do about it
	Details []Detail `json:"details,omitempty"` // where: one entry per problem found

	// RetryAfter is the server's advice not to come back before this long.
	// It travels as the header Retry-After, and with the error of an item of a batch
	// as RetryAfterSeconds. 0 means no advice.
	RetryAfter time.Duration `json:"-"`
	// RetryAfterSeconds is RetryAfter in the error of an item, which has no header.
	RetryAfterSeconds float64 `json:"retry_after_seconds,omitempty" doc:"For a refused item: time to wait before the next try."`
	// Err is what caused the error, on the side where it happened. It never
	// travels and is not printed: a network error of the SDK, for example.
	Err error `json:"-"`
}

// Detail locates one problem: a JSON pointer into a body ("/tasks/3/context"),
// or file:line:column for YAML.
type Detail struct {
	Location string `json:"location,omitempty"`
	Message  string `json:"message"`
}

// Errorf makes an Error without details.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error implements error: message, then one line per detail, then the hint.
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

// Unwrap returns the cause, nil for an error that came over the wire.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, &Error{Code: CodeNotFound}) compare codes, so that a
// caller can branch without unwrapping.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// ErrorCode returns the code of err: the code of the first *Error in its
// chain, CodeInternal for any other error, "" for nil.
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
