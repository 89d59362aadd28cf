package task

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
)

// WaitKind is the kind of wait of a step without a handler.
type WaitKind string

// The kinds of waits.
const (
	WaitTime     WaitKind = "time"
	WaitApproval WaitKind = "approval"
	WaitSignal   WaitKind = "signal"
)

// WaitKinds lists the kinds.
var WaitKinds = []WaitKind{WaitTime, WaitApproval, WaitSignal}

// OnEnd decides about a step whose wait ended in vain.
type OnEnd string

// The choices.
const (
	EndFails     OnEnd = "fail"
	EndContinues OnEnd = "continue"
)

// Wait is the wait of a step without a handler. Exactly one of For, Until, Approval and Signal is set. Its JSON is
// stored with templates and part of their fingerprints.
type Wait struct {
	For      time.Duration `json:"for,omitempty"`
	Until    string        `json:"until,omitempty"` // RFC 3339, or a place in the context for one
	Approval string        `json:"approval,omitempty"`
	Signal   string        `json:"signal,omitempty"`
	Key      string        `json:"key,omitempty"` // of the signal, with places for context values
	// Timeout is for an approval or a signal; 0 is unbounded.
	Timeout   time.Duration `json:"timeout,omitempty"`
	OnTimeout OnEnd         `json:"on_timeout,omitempty"`
	OnReject  OnEnd         `json:"on_reject,omitempty"`
}

// The bounds of waits; MaxApproval is in bytes.
const (
	MaxWait     = 366 * 24 * time.Hour
	MaxApproval = 1024
)

// Kind is the kind of the wait.
func (w *Wait) Kind() WaitKind {
	switch {
	case w.Approval != "":
		return WaitApproval
	case w.Signal != "":
		return WaitSignal
	}
	return WaitTime
}

// Ends returns when a wait that begins now ends in vain; 0: never. until is Until with the context's values. A past
// time ends the wait immediately.
func (w *Wait) Ends(now Instant, until string) (Instant, error) {
	switch {
	case w.Until != "":
		at, err := time.Parse(time.RFC3339, until)
		if err != nil {
			return 0, fmt.Errorf("%q is not an RFC 3339 time", failure.Cut(until, 100))
		}
		if fault := InstantFault(At(at)); fault != "" {
			return 0, fmt.Errorf("%q %s", until, fault)
		}
		return max(At(at), now), nil
	case w.For > 0:
		return now.Add(w.For), nil
	case w.Timeout > 0:
		return now.Add(w.Timeout), nil
	}
	return 0, nil
}

// ReadsContext reports whether the wait needs the task's context.
func (w *Wait) ReadsContext() bool { return strings.Contains(w.Until+w.Key, "{{") }

// The codes of failures of waits.
const (
	CodeWaitTimeout = "WAIT_TIMEOUT"
	CodeWaitInvalid = "WAIT_INVALID" // the context has no time or no key
	CodeRejected    = "REJECTED"
)

// WaitFailure is not retryable: another wait would take as long.
func WaitFailure(code, message string) *Failure {
	return &Failure{Type: "wait", Code: code, Message: message, Class: failure.Logic}
}

// Expired returns the result or the failure of a wait that ended in vain.
func (w *Wait) Expired() (result []byte, f *Failure) {
	switch {
	case w.Kind() == WaitTime:
		return nil, nil
	case w.OnTimeout == EndContinues:
		return []byte(`{"timed_out":true}`), nil
	}
	return nil, WaitFailure(CodeWaitTimeout, fmt.Sprintf("no %s came within %s", w.Kind(), w.Timeout))
}

// Ends of an approval, for events.
const (
	DecisionApproved = "approved"
	DecisionRejected = "rejected"
	DecisionTimedOut = "timed_out"
	// Without a decision: the task or the step ended otherwise.
	DecisionCancelled = "cancelled"
	DecisionResolved  = "resolved"
)

// Decision is an operator's answer to an approval.
type Decision struct {
	Approved bool      `json:"approved"`
	Actor    string    `json:"actor"`
	Reason   string    `json:"reason"`
	At       time.Time `json:"at"`
}

// Decide returns the result of a decided step, or its failure.
func (w *Wait) Decide(d Decision) (result []byte, f *Failure, err error) {
	if !d.Approved && w.OnReject != EndContinues {
		return nil, WaitFailure(CodeRejected, fmt.Sprintf("%s rejected it: %s", d.Actor, d.Reason)), nil
	}
	result, err = json.Marshal(d)
	return result, nil, err
}
