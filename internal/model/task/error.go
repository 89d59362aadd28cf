package task

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code classifies an error in terms of the public API.
type Code string

// The codes of the domain, the engine and the stores.
const (
	Invalid     Code = "invalid"
	TooLarge    Code = "too_large"
	Forbidden   Code = "forbidden"
	NotFound    Code = "not_found"
	Conflict    Code = "conflict"
	WrongState  Code = "wrong_state"
	StaleToken  Code = "stale_token"
	Exhausted   Code = "exhausted"
	Unavailable Code = "unavailable"
	Internal    Code = "internal"
)

// Problem is one fault and its place: a JSON pointer, or file:line:column.
type Problem struct {
	Location string
	Message  string
}

// Error is an error for callers. Its text is safe to show.
type Error struct {
	Code       Code
	Message    string
	Hint       string
	Problems   []Problem
	RetryAfter time.Duration
	Err        error // the cause, for the log only
}

// Errorf makes an Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	for _, p := range e.Problems {
		b.WriteString("; ")
		if p.Location != "" {
			b.WriteString(p.Location + ": ")
		}
		b.WriteString(p.Message)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns "" for nil, Internal for an unclassified error.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	default:
		return Internal
	}
}
