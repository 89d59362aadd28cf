package task

import (
	"time"

	"github.com/taskerhq/tasker/internal/failure"
)

// CaseCause details the reason of an occurrence: what stopped the task.
type CaseCause string

// The causes.
const (
	CauseRetriesExhausted CaseCause = "retries_exhausted" // a step failed with the last attempt that it had
	CauseNoRetries        CaseCause = "no_retries"        // a step failed that has one attempt
	CauseNotRetryable     CaseCause = "not_retryable"     // the failure was final
	CauseClassLimit       CaseCause = "class_limit"       // attempts are left, but not for failures of this class
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

// Codes of failures that the engine reports of steps whose task was given up.
const (
	CodeStale    = "TASK_STALE"
	CodeDeadline = "TASK_TIMEOUT"
)

// CauseOf returns why a step is in error, by its last failed attempt.
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
	No            int // 1 is what opened the case
	At            Instant
	Reason        CaseReason
	Cause         CaseCause // "" for one that was stored before there were causes
	OriginalState State     // of the task, before what happened
	// Fingerprint is that of the failure (see Failure.Fingerprint), "" when there was none;
	// Retryable: trying again may help.
	Fingerprint string
	Retryable   bool
	// Step, Class and Message are about the failure: the step that failed last, the class
	// of its failure and the beginning of its message. "" where nothing failed.
	Step     string
	Class    failure.Class
	Message  string
	Snapshot []byte    // JSON; nil where it was not asked for
	Recovery *Recovery // nil: the task was not repaired before it failed again
	// Unread says why a part of the row could not be read, "" for nearly all.
	Unread string
}

// Recovery says how the task of a case came out of its trouble.
type Recovery struct {
	At    time.Time `json:"at"`
	State State     `json:"state"`            // that the task came to
	By    string    `json:"by"`               // the operator, or "system"
	Key   string    `json:"by_key,omitempty"` // name of the operator's API key
	How   string    `json:"how,omitempty"`    // what made it recover
	// FinishedAt is when it was over; then State is its last.
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// Replays count how often the task of a case was replayed while the case was pending.
type Replays struct {
	Count int        `json:"count"`
	At    *time.Time `json:"at"` // of the last one
	By    string     `json:"by"`
	Key   string     `json:"by_key,omitempty"` // name of the API key
}

// Bounds of what a case keeps. The first occurrence and the latest are always kept; of
// those between, the newest are, up to a number and to a size of their snapshots.
const (
	KeptOccurrences = 10 // the first and the latest included
	OccurrenceBytes = 1 << 20
	MaxCaseMessage  = 1 << 10 // bytes
)

// KeptFrom is the number of the oldest occurrence, besides the first, that is kept when
// the latest has a number.
func KeptFrom(latest int) int { return latest - (KeptOccurrences - 2) }

// Dropped returns how many of its former occurrences a case does not keep any more.
func (c *Case) Dropped() int { return c.Occurrences - 1 - len(c.Former) }

// Latest is the occurrence that a case shows.
func (c *Case) Latest() Occurrence {
	return Occurrence{No: c.Occurrences, At: c.OccurredAt, Reason: c.Reason, Cause: c.Cause,
		OriginalState: c.OriginalState, Fingerprint: c.Fingerprint,
		Retryable: c.Retryable, Step: c.Step, Class: c.Class, Message: c.Message, Snapshot: c.Snapshot, Recovery: c.Recovery}
}

// Recur shows another occurrence of the trouble. Its number is the next one.
func (c *Case) Recur(o Occurrence) {
	c.Occurrences++
	c.OccurredAt, c.UpdatedAt = o.At, o.At
	c.Reason, c.Cause, c.OriginalState, c.Fingerprint, c.Retryable = o.Reason, o.Cause, o.OriginalState, o.Fingerprint,
		o.Retryable
	c.Step, c.Class, c.Message, c.Snapshot, c.Recovery = o.Step, o.Class, o.Message, o.Snapshot, o.Recovery
}
