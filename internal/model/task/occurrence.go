package task

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
)

// CaseCause details the reason of an occurrence: what stopped the task.
type CaseCause string

// The causes.
const (
	CauseRetriesExhausted CaseCause = "retries_exhausted" // a step failed with its last attempt
	CauseNoRetries        CaseCause = "no_retries"        // a step with a single attempt failed
	CauseNotRetryable     CaseCause = "not_retryable"     // the failure was final
	CauseClassLimit       CaseCause = "class_limit"       // attempts remain, but not for failures of this class
	CauseLostWorkers      CaseCause = "lost_workers"      // a step lost its worker too often
	CauseStale            CaseCause = "stale"             // too long in one state
	CauseDeadline         CaseCause = "deadline"          // longer than max_duration_minutes
	CauseCycle            CaseCause = "cycle"             // steps wait for each other
	CauseNoWorker         CaseCause = "no_worker"         // ready, and no live worker serves the route
	CauseManual           CaseCause = "manual"            // opened by an operator
)

// CaseCauses lists the causes.
var CaseCauses = []CaseCause{CauseRetriesExhausted, CauseNoRetries, CauseNotRetryable, CauseClassLimit,
	CauseLostWorkers, CauseStale, CauseDeadline,
	CauseCycle, CauseNoWorker, CauseManual}

// Codes of the failures that the engine reports for steps of a task it gave up.
const (
	CodeStale    = "TASK_STALE"
	CodeDeadline = "TASK_TIMEOUT"
)

// CauseOf returns the cause of a step's error, from its last failed attempt.
func CauseOf(s *Step, a *Attempt) CaseCause {
	f := a.Failure
	switch {
	case a.Outcome == TimedOut && f.Code == CodeStale:
		return CauseStale
	case a.Outcome == TimedOut && f.Code == CodeDeadline:
		return CauseDeadline
	case !f.Retryable:
		return CauseNotRetryable
	case ClassOf(f) == failure.Worker:
		return CauseLostWorkers
	case s.MaxAttempts <= 1:
		return CauseNoRetries
	case s.Attempts >= s.MaxAttempts:
		return CauseRetriesExhausted
	default:
		return CauseClassLimit
	}
}

// Occurrence is one time that the task of a case was found stuck.
type Occurrence struct {
	No            int // 1 opened the case
	At            Instant
	Reason        CaseReason
	Cause         CaseCause // "" for one stored before there were causes
	OriginalState State     // of the task, before the occurrence
	// Fingerprint is that of the failure (see Failure.Fingerprint), "" without one. Retryable reports that a retry may
	// help.
	Fingerprint string
	// Group is that of the inbox; set in a new occurrence only.
	Group     int64
	Retryable bool
	// Step, Class and Message describe the failure: the step that failed last, the class of its failure and the
	// beginning of its message. "" without a failure.
	Step     string
	Class    failure.Class
	Message  string
	Snapshot []byte    // JSON; nil unless requested
	Recovery *Recovery // nil: the task failed again before it was repaired
	// Unread explains which part of the row is unreadable, "" for a whole row.
	Unread string
}

// Recovery is how the task of a case recovered.
type Recovery struct {
	At    time.Time `json:"at"`
	State State     `json:"state"`            // the state of the task afterwards
	By    string    `json:"by"`               // the operator, or "system"
	Key   string    `json:"by_key,omitempty"` // name of the operator's API key
	How   string    `json:"how,omitempty"`    // the action that made it recover
	// FinishedAt is the end of the task; State is then its final one.
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// Replays count the replays of the task of a case while the case was pending.
type Replays struct {
	Count int        `json:"count"`
	At    *time.Time `json:"at"` // of the last one
	By    string     `json:"by"`
	Key   string     `json:"by_key,omitempty"` // name of the API key
}

// Bounds of a case. The first occurrence and the latest are always kept; of those between, the newest are kept, up to a
// number and to a size of their snapshots.
const (
	KeptOccurrences = 10 // the first and the latest included
	OccurrenceBytes = 1 << 20
	MaxCaseMessage  = 1 << 10 // bytes
)

// KeptFrom returns the number of the oldest occurrence kept in addition to the first, from the number of the latest.
func KeptFrom(latest int) int { return latest - (KeptOccurrences - 2) }

// Dropped returns the number of former occurrences that a case no longer keeps.
func (c *Case) Dropped() int { return c.Occurrences - 1 - len(c.Former) }

// Latest returns the latest occurrence of a case.
func (c *Case) Latest() Occurrence {
	return Occurrence{No: c.Occurrences, At: c.OccurredAt, Reason: c.Reason, Cause: c.Cause,
		OriginalState: c.OriginalState, Fingerprint: c.Fingerprint,
		Retryable: c.Retryable, Step: c.Step, Class: c.Class, Message: c.Message, Snapshot: c.Snapshot, Recovery: c.Recovery}
}

// Recur records another occurrence of the problem, with the next number.
func (c *Case) Recur(o Occurrence) {
	c.Occurrences++
	c.OccurredAt, c.UpdatedAt = o.At, o.At
	c.Reason, c.Cause, c.OriginalState, c.Fingerprint, c.Retryable = o.Reason, o.Cause, o.OriginalState, o.Fingerprint,
		o.Retryable
	c.Group = o.Group
	c.Step, c.Class, c.Message, c.Snapshot, c.Recovery = o.Step, o.Class, o.Message, o.Snapshot, o.Recovery
}
