package task

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
)

// CaseCause says what stopped the task.
type CaseCause string

// The causes.
const (
	CauseRetriesExhausted CaseCause = "retries_exhausted"
	CauseNoRetries        CaseCause = "no_retries" // a step with a single attempt failed
	CauseNotRetryable     CaseCause = "not_retryable"
	CauseClassLimit       CaseCause = "class_limit" // attempts remain, but not for this class
	CauseLostWorkers      CaseCause = "lost_workers"
	CauseStale            CaseCause = "stale"
	CauseDeadline         CaseCause = "deadline" // longer than max_duration_minutes
	CauseCycle            CaseCause = "cycle"
	CauseNoWorker         CaseCause = "no_worker"
	CauseManual           CaseCause = "manual"
)

// CaseCauses lists the causes.
var CaseCauses = []CaseCause{CauseRetriesExhausted, CauseNoRetries, CauseNotRetryable, CauseClassLimit,
	CauseLostWorkers, CauseStale, CauseDeadline,
	CauseCycle, CauseNoWorker, CauseManual}

// Failure codes for steps that the engine ended.
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

// Occurrence is one time that the task of a case was stuck.
type Occurrence struct {
	No            int
	At            Instant
	Reason        CaseReason
	Cause         CaseCause
	OriginalState State // of the task, before the occurrence
	Fingerprint   string
	// Group is in the inbox; older occurrences have none.
	Group     int64
	Retryable bool
	// Step, Class and Message describe the last failed step; "" without a failure.
	Step     string
	Class    failure.Class
	Message  string
	Snapshot []byte    // JSON; nil unless requested
	Recovery *Recovery // nil: the task failed again before a repair
	Unread   string
}

// Recovery is the recovery of a case's task.
type Recovery struct {
	At         time.Time  `json:"at"`
	State      State      `json:"state"`
	By         string     `json:"by"` // the operator, or "system"
	Key        string     `json:"by_key,omitempty"`
	How        string     `json:"how,omitempty"` // the action that recovered it
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// Replays counts the replays of a case's task while the case was pending.
type Replays struct {
	Count int        `json:"count"`
	At    *time.Time `json:"at"`
	By    string     `json:"by"`
	Key   string     `json:"by_key,omitempty"`
}

// Bounds of a case. It keeps the first and the latest occurrence, and the newest between them up to a number and a
// size of snapshots.
const (
	KeptOccurrences = 10
	OccurrenceBytes = 1 << 20
	MaxCaseMessage  = 1 << 10
)

// KeptFrom returns the oldest kept number after the first.
func KeptFrom(latest int) int { return latest - (KeptOccurrences - 2) }

// Dropped returns the number of dropped occurrences.
func (c *Case) Dropped() int { return c.Occurrences - 1 - len(c.Former) }

// Latest returns the latest occurrence.
func (c *Case) Latest() Occurrence {
	return Occurrence{No: c.Occurrences, At: c.OccurredAt, Reason: c.Reason, Cause: c.Cause,
		OriginalState: c.OriginalState, Fingerprint: c.Fingerprint,
		Retryable: c.Retryable, Step: c.Step, Class: c.Class, Message: c.Message, Snapshot: c.Snapshot, Recovery: c.Recovery}
}

// Recur adds an occurrence with the next number.
func (c *Case) Recur(o Occurrence) {
	c.Occurrences++
	c.OccurredAt, c.UpdatedAt = o.At, o.At
	c.Reason, c.Cause, c.OriginalState, c.Fingerprint, c.Retryable = o.Reason, o.Cause, o.OriginalState, o.Fingerprint,
		o.Retryable
	c.Group = o.Group
	c.Step, c.Class, c.Message, c.Snapshot, c.Recovery = o.Step, o.Class, o.Message, o.Snapshot, o.Recovery
}
