package task

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/model/failure"
)

// CaseReason says why a case was opened.
type CaseReason string

// The reasons.
const (
	ReasonStaleness         CaseReason = "staleness_timeout"
	ReasonMaxRetries        CaseReason = "max_retries_exceeded"
	ReasonCycle             CaseReason = "dependency_cycle_detected"
	ReasonWorkerUnavailable CaseReason = "worker_unavailable"
	ReasonManual            CaseReason = "manual_dlq"
)

// CaseReasons lists the reasons.
var CaseReasons = []CaseReason{ReasonCycle, ReasonMaxRetries, ReasonStaleness, ReasonWorkerUnavailable, ReasonManual}

// Resolution is the outcome of a case.
type Resolution string

// The resolutions.
const (
	CasePending   Resolution = "pending"
	CaseResolved  Resolution = "manually_resolved"
	CaseFailed    Resolution = "permanently_failed"
	CaseCancelled Resolution = "cancelled" // a duplicate, or nothing was wrong
)

// Resolutions lists the resolutions in the order of a case.
var Resolutions = []Resolution{CasePending, CaseResolved, CaseFailed, CaseCancelled}

// resolutions are a case's transitions. Only Reopen returns to pending.
var resolutions = map[Resolution][]Resolution{
	CasePending:   {CaseResolved, CaseFailed, CaseCancelled},
	CaseResolved:  {CasePending},
	CaseFailed:    {CasePending},
	CaseCancelled: {CasePending},
}

// Next lists the possible next resolutions.
func (r Resolution) Next() []Resolution { return resolutions[r] }

// Case is the investigation of a stuck task. It does not change the task.
type Case struct {
	ID       ID
	TaskID   ID
	DefID    int64
	OpenedAt Instant

	// The latest occurrence. Lists and whole cases have Fingerprint, Retryable, Step, Class and Message, too.
	Occurrences   int
	OccurredAt    Instant
	Reason        CaseReason
	Cause         CaseCause
	OriginalState State
	Fingerprint   string
	// Group is in the inbox; 0 for none yet.
	Group     int64
	Retryable bool
	Step      string
	Class     failure.Class
	Message   string
	Snapshot  []byte
	Recovery  *Recovery
	// Former are the kept earlier occurrences, oldest first; whole cases only.
	Former []Occurrence

	Status Resolution
	// Notes is the note of the resolution, or the last one. Thread has all notes of a whole case, oldest first, else
	// unstored ones.
	Notes           string
	Thread          []CaseNote
	NoteCount       int
	NoteBytes       int
	Replays         Replays
	ResolvedAt      Instant
	ResolvedBy      string
	ResolvedKey     string
	Metadata        []byte
	MetadataOmitted bool
	CreatedAt       Instant
	UpdatedAt       Instant
	Unread          string
}

// NewCase opens a case; state is the task's current or previous state.
func NewCase(id ID, t *Task, state State, reason CaseReason, now Instant) *Case {
	return &Case{ID: id, TaskID: t.ID, DefID: t.DefID, Occurrences: 1, OccurredAt: now, OriginalState: state,
		Reason: reason, OpenedAt: now, Status: CasePending, CreatedAt: now, UpdatedAt: now}
}

// Kinds of acts of a replay: on the task, and on each repeated step.
const (
	ActReplay     = "replay"
	ActReplayStep = "replay_step"
)

// ActResetStep restarts a step.
const ActResetStep = "reset_for_retry"

// ResetActs restart a step.
var ResetActs = []string{ActResetStep, ActReplayStep}

// ActEditContext changes the context of a task.
const ActEditContext = "edit_context"

// ActGiveUp is the system's, for an open step of a task beyond its maximum duration.
const ActGiveUp = "give_up_step"

// ActCompensate is the system's, for a failed task.
const ActCompensate = "compensate"

// Kinds of acts on a case.
const (
	ActOpenCase   = "open_case"
	ActUpdateCase = "update_case"
	ActReopenCase = "reopen_case"
)

// CaseChange is an operator's change of a case.
type CaseChange struct {
	Status   Resolution // "" keeps it
	Notes    *string
	Actor    string
	Key      string // API key, "" without one
	Metadata []byte // JSON object: members to set, null removes one; nil keeps all
	Reopen   bool
	Expect   Expectation
}

// Change applies a change and returns the act to store. WrongState: the case is resolved, and this is not a reopening
// or a note. TooLarge: the thread is full.
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
		if c.Status == CasePending || ch.Status != "" { // a later note does not replace the resolution's
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

func (ch CaseChange) note() string {
	if ch.Notes == nil {
		return ""
	}
	return *ch.Notes
}

func (ch CaseChange) onlyNotes() bool {
	return ch.note() != "" && ch.Status == "" && ch.Metadata == nil
}

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

// MergeObject sets members of a JSON object; null removes one, and a nil object is empty.
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
