package task

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/failure"
)

// CaseReason says why a case was opened.
type CaseReason string

// The reasons.
const (
	ReasonStaleness         CaseReason = "staleness_timeout"         // too long in one state, or in all
	ReasonMaxRetries        CaseReason = "max_retries_exceeded"      // in error: a step failed for good
	ReasonCycle             CaseReason = "dependency_cycle_detected" // steps wait for each other
	ReasonWorkerUnavailable CaseReason = "worker_unavailable"        // ready, and no live worker serves the route
	ReasonManual            CaseReason = "manual_dlq"                // opened by an operator
)

// CaseReasons lists the reasons.
var CaseReasons = []CaseReason{ReasonCycle, ReasonMaxRetries, ReasonStaleness, ReasonWorkerUnavailable, ReasonManual}

// Resolution is what has become of a case.
type Resolution string

// The resolutions.
const (
	CasePending   Resolution = "pending"
	CaseResolved  Resolution = "manually_resolved"
	CaseFailed    Resolution = "permanently_failed"
	CaseCancelled Resolution = "cancelled" // a duplicate, or nothing was wrong
)

// Resolutions lists the resolutions in the order of a life.
var Resolutions = []Resolution{CasePending, CaseResolved, CaseFailed, CaseCancelled}

// resolutions is the one table of a case's moves. The way back to pending is
// only for Reopen.
var resolutions = map[Resolution][]Resolution{
	CasePending:   {CaseResolved, CaseFailed, CaseCancelled},
	CaseResolved:  {CasePending},
	CaseFailed:    {CasePending},
	CaseCancelled: {CasePending},
}

// Next lists the resolutions a case may move to from r.
func (r Resolution) Next() []Resolution { return resolutions[r] }

// Case is the investigation of a task that is stuck. It changes nothing about
// the task: that is repaired by its steps.
type Case struct {
	ID       ID
	TaskID   ID
	DefID    int64 // of the task's template
	OpenedAt Instant

	// What is shown of the latest occurrence; see Occurrence. Fingerprint, Retryable, Step,
	// Class and Message are only there where a list or a whole case was asked for.
	Occurrences   int // how often the task was found stuck; 1 for the first time
	OccurredAt    Instant
	Reason        CaseReason
	Cause         CaseCause
	OriginalState State
	Fingerprint   string
	Retryable     bool
	Step          string
	Class         failure.Class
	Message       string
	Snapshot      []byte // JSON; nil where it was not asked for
	Recovery      *Recovery
	// Former are the occurrences before the latest that are kept, the first one first;
	// only where a whole case was asked for.
	Former []Occurrence

	Status Resolution
	// Notes is the note that the case shows: the one that it was resolved with, or the
	// last one. Thread holds all, the oldest first, where a whole case was asked for; else
	// those that are not stored yet.
	Notes      string
	Thread     []CaseNote
	NoteCount  int
	NoteBytes  int
	Replays    Replays
	ResolvedAt Instant
	ResolvedBy string
	// ResolvedKey is the name of the API key that resolved it, "" without one.
	ResolvedKey string
	Metadata    []byte // JSON object, nil when there is none
	// MetadataOmitted: a list has left out Metadata, which would have made the page too long.
	MetadataOmitted bool
	CreatedAt       Instant
	UpdatedAt       Instant
	// Unread says why a part of the row could not be read, "" for nearly all.
	Unread string
}

// NewCase opens a case of a task that is, or was until now, in a state.
func NewCase(id ID, t *Task, state State, reason CaseReason, now Instant) *Case {
	return &Case{ID: id, TaskID: t.ID, DefID: t.DefID, Occurrences: 1, OccurredAt: now, OriginalState: state,
		Reason: reason, OpenedAt: now,
		Status: CasePending, CreatedAt: now, UpdatedAt: now}
}

// The kinds of acts of a replay: on the task, and on each step that it runs again.
const (
	ActReplay     = "replay"
	ActReplayStep = "replay_step"
)

// ActEditContext is the kind of act that changes the context of a task.
const ActEditContext = "edit_context"

// ActGiveUp is what the system does to each open step of a task that has taken too
// long: it is in error.
const ActGiveUp = "give_up_step"

// The kinds of acts on a case.
const (
	ActOpenCase   = "open_case"
	ActUpdateCase = "update_case"
	ActReopenCase = "reopen_case"
)

// CaseChange is what an investigation found.
type CaseChange struct {
	Status   Resolution // "" leaves it
	Notes    *string    // a note to add to the thread; nil or "" is none
	Actor    string
	Key      string // name of the actor's API key, "" without one
	Metadata []byte // JSON object: members to set, null removes one; nil leaves all
	Reopen   bool
	Expect   Expectation // what the operator saw of the case
}

// Change carries out a change and returns the act to store. A resolved case is final:
// WrongState, unless the change opens it again, or only adds a note. TooLarge when the
// thread of notes is full.
func (c *Case) Change(ch CaseChange, now Instant) (Act, error) {
	act := Act{At: now, TaskID: c.TaskID, CaseID: c.ID, Kind: ActUpdateCase, Actor: ch.Actor, From: string(c.Status)}
	if ch.Reopen {
		act.Kind, ch.Status = ActReopenCase, CasePending
	}
	if err := c.guard(ch); err != nil {
		return Act{}, err
	}
	merged, err := MergeObject(c.Metadata, ch.Metadata)
	if err != nil {
		return Act{}, err
	}
	if text := ch.note(); text != "" {
		if err := c.note(ch.Actor, ch.Key, text, now); err != nil {
			return Act{}, err
		}
		act.Reason = text
		if c.Status == CasePending || ch.Status != "" { // a late one does not replace what it was resolved with
			c.Notes = text
		}
	}
	c.Metadata, c.UpdatedAt = merged, now
	if ch.Status != "" && ch.Status != c.Status {
		c.Status, c.ResolvedAt, c.ResolvedBy, c.ResolvedKey = ch.Status, now, ch.Actor, ch.Key
	}
	if c.Status == CasePending {
		c.ResolvedAt, c.ResolvedBy, c.ResolvedKey = 0, "", ""
	}
	act.To, act.Data = string(c.Status), bytes.Clone(ch.Metadata)
	return act, nil
}

// note is the text to add to the thread, "" for none.
func (ch CaseChange) note() string {
	if ch.Notes == nil {
		return ""
	}
	return *ch.Notes
}

// onlyNotes reports whether a change adds a note and nothing else.
func (ch CaseChange) onlyNotes() bool {
	return ch.note() != "" && ch.Status == "" && ch.Metadata == nil
}

// guard refuses what a case does not allow in its state.
func (c *Case) guard(ch CaseChange) error {
	switch final := c.Status != CasePending; {
	case ch.Reopen && !final:
		return Errorf(WrongState, "the case %s is pending; there is nothing to open again", c.ID)
	case !ch.Reopen && final && !ch.onlyNotes():
		e := Errorf(WrongState, "the case %s is %s, and that is final", c.ID, c.Status)
		e.Hint = "a note can still be added; for more open it again first (reopen), or open a new case of the task"
		return e
	case ch.Status != "" && ch.Status != c.Status && !slices.Contains(c.Status.Next(), ch.Status):
		return Errorf(WrongState, "a case that is %s cannot become %s", c.Status, ch.Status)
	}
	return nil
}

// MergeObject sets the members of a JSON object; null removes one. Nil stands for
// an object without members, and comes back where none are left.
func MergeObject(object, changes []byte) ([]byte, error) {
	if changes == nil {
		return object, nil
	}
	merged, err := members(object)
	if err != nil {
		return nil, err
	}
	set, err := members(changes)
	if err != nil {
		return nil, err
	}
	for name, v := range set {
		if string(v) == "null" {
			delete(merged, name)
		} else {
			merged[name] = v
		}
	}
	if len(merged) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("encode JSON object: %w", err)
	}
	return b, nil
}

func members(object []byte) (map[string]json.RawMessage, error) {
	m := map[string]json.RawMessage{}
	if object == nil {
		return m, nil
	}
	if err := json.Unmarshal(object, &m); err != nil || m == nil {
		return nil, Errorf(Invalid, "it must be a JSON object")
	}
	return m, nil
}
