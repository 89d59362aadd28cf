package kernel

import (
	"cmp"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Observer receives the effects of write transactions.
//
// Its methods run in the goroutine of the transaction, while callers wait: they must be quick, safe for concurrent
// use, and must not call the engine.
type Observer interface {
	// Committed is called once per commit. An observer must not keep any part of the reused Commit.
	Committed(c *Commit)
	Failed(verb string, took time.Duration, err error)
	// Detected is called after each cycle of the staleness detection, even if it failed.
	Detected(d Detection)
	Probed(good, failed int)
	// WorkerFailed is called for each worker without heartbeats (FailedHeartbeat) or with failed probes
	// (FailedProbe).
	WorkerFailed(reason string)
	Refused(why Refusal, tasks int)
	Analyzed(a *Analysis)
	// AttemptTrace returns the W3C traceparent for the worker of a step whose task was submitted under parent.
	AttemptTrace(parent string, step task.ID, token int64) string
}

// The reasons of failed workers.
const (
	FailedHeartbeat = "heartbeat"
	FailedProbe     = "health_probe"
)

// Commit is the effect of one transaction. Empty slices are not nil, because it is reused.
type Commit struct {
	Verb    string
	At      task.Instant
	Took    time.Duration
	Repeats int

	PriorityName func(level int) string

	Names Names

	Submitted []int64  // new tasks, by the key of their template
	Handed    []Handed // steps given to workers
	Started   []Started
	Ended     []Ended
	Settled   []Settled // tasks now terminal or in error
	Reopened  []int64   // tasks that left error, by the key of their template
	Expired   int       // of Settled: tasks that exceeded max_duration
	Known     int       // submissions answered with an existing task
	Unique    UniqueCounts
	Promoted  []Promoted
	TaskMoves []TaskMove
	StepMoves []StepMove // except those in Handed, Started and Ended
	Refused   int        // results and leases under a stale token
	Acts      []string   // operators' acts, by kind
	Turned    []BreakerTurned
	Opened    []CaseOpened
	Recurred  []CaseOpened // repeated reasons of pending cases
	Resolved  []CaseResolved

	Transitions []Transition // with Options.Transitions
}

// Names resolves keys of routes and templates. It returns nil for a key that is unknown or unreadable.
type Names interface {
	NamesOfRoute(id int64) *task.Route
	NamesOfTemplate(def int64) *task.Template
}

// Handed is a step that was given to a worker.
type Handed struct {
	RouteID  int64
	Worker   int64
	Priority int
	ReadyAt  task.Instant
}

// Started is an attempt that began.
type Started struct {
	RouteID    int64
	AssignedAt task.Instant // 0: not known
}

// TaskMove is a task's change of state; From is "" when it was submitted.
type TaskMove struct{ From, To task.State }

// StepMove is a step's change of state; From is "" when its task was submitted.
type StepMove struct{ From, To task.StepState }

// Transition is a change of state of a task or a step.
type Transition struct {
	Task      task.ID // zero: not known here; see observed.holdStarted
	Step      task.ID
	DefID     int64
	Ordinal   int
	From, To  string // From is "" for a new task or step.
	Worker    string
	Priority  int
	CreatedAt task.Instant // of the task; 0: not known
	Attempts  int
	Initiator string
	Parent    string
}

// Promoted is a step that was moved to the position of another level.
type Promoted struct{ From, To int }

// Ended is an attempt that ended, or a lease that ended before an attempt.
type Ended struct {
	RouteID   int64
	Worker    int64
	Priority  int
	Outcome   task.Outcome
	After     task.StepState
	StartedAt task.Instant // 0: it never started
	Class     failure.Class
	Blames    bool           // see task.WorkersFault
	LostSince task.Instant   // when the lease of an attempt was granted that its worker lost; else 0
	Number    int            // of attempts since the last reset
	Traced    *TracedAttempt // nil without a trace
}

// TracedAttempt is the data for the span of an attempt.
type TracedAttempt struct {
	task.Attempt
	Parent  string
	DefID   int64
	Ordinal int
}

// Settled is a task that has become terminal or is in error.
type Settled struct {
	DefID     int64
	Priority  int
	State     task.State
	CreatedAt task.Instant
}

// BreakerTurned is a worker's circuit breaker that opened or closed.
type BreakerTurned struct {
	Worker task.ID
	Name   string
	Open   bool
}

// CaseReasons are the reasons for cases.
var CaseReasons = []string{"staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected",
	"worker_unavailable", "manual_dlq"}

// CaseOpened is an investigation that began, or one whose task got stuck again.
type CaseOpened struct {
	CaseID, TaskID task.ID
	Reason         string
	Cause          task.CaseCause
	Class          failure.Class
	OriginalState  task.State // before the event that opened the case
	Parent         string
}

// CaseResolved is an investigation that ended.
type CaseResolved struct {
	CaseID, TaskID task.ID
	Reason         string
	Status         string // manually_resolved, permanently_failed, cancelled
	OpenedAt       task.Instant
	Parent         string
}

// Detection is one cycle of the staleness detection. With an Err, it has the counts up to the error.
type Detection struct {
	At           task.Instant
	Took         time.Duration
	Interval     time.Duration
	DryRun       bool
	Detected     int
	Transitioned int // of these, put in error
	Err          error
}

// Refusal is why back-pressure refuses a submission, in the words of metrics and configuration.
type Refusal string

// The reasons, in the order of the checks.
const (
	Overloaded    Refusal = "overloaded"
	OverAllowList Refusal = "allow_list_only"
	OverHigh      Refusal = "high_only"
	OverSoft      Refusal = "soft"
	OverBurst     Refusal = "user_burst"
	OverSustained Refusal = "user_sustained"
)

// Refusals lists every reason.
var Refusals = []Refusal{Overloaded, OverAllowList, OverHigh, OverSoft, OverBurst, OverSustained}

// UniqueOutcome is the effect of a unique key on a submission.
type UniqueOutcome string

// The outcomes.
const (
	UniqueReturned   UniqueOutcome = "returned" // answered with the guarding task
	UniqueRefused    UniqueOutcome = "refused"
	UniqueReplaced   UniqueOutcome = "replaced"   // the earlier task is cancelled
	UniqueSuperseded UniqueOutcome = "superseded" // replaced before it was stored
)

// UniqueOutcomes lists all outcomes.
var UniqueOutcomes = []UniqueOutcome{UniqueReturned, UniqueRefused, UniqueReplaced, UniqueSuperseded}

// UniqueCounts counts submissions in the order of UniqueOutcomes.
type UniqueCounts [4]int

// Analysis is the result of AnalyzeFailures.
type Analysis struct {
	Report *FailureReport
	// Raised are the alarms that the previous analysis did not have.
	Raised   []FailureAlarm
	Interval time.Duration // until the next one is due
}

// FailureReport is a stored analysis with the thresholds of the present configuration.
type FailureReport struct {
	At, Since    task.Instant
	Reasons      []FailureCount // without namespace and error, the most frequent first
	Fingerprints []FailureCount // the most frequent first, bounded
	Replayable   int
	Alarms       []FailureAlarm
}

// FailureAlarm is a finding that needs an operator.
type FailureAlarm struct {
	Kind        AlarmKind
	Namespace   string          // of a new fingerprint
	Reason      task.CaseReason // "" for replayable
	Fingerprint string          // of a new fingerprint
	Cases       int
}

// AlarmKind is the kind of an alarm.
type AlarmKind string

// The kinds of alarms.
const (
	NewFingerprint AlarmKind = "new_pattern"
	FrequentReason AlarmKind = "frequent_reason"
	ManyReplayable AlarmKind = "replayable" // a hint: consider a replay
)

// AlarmKinds lists the kinds.
var AlarmKinds = []AlarmKind{NewFingerprint, FrequentReason, ManyReplayable}

// Message describes the alarm in a sentence.
func (a FailureAlarm) Message() string {
	switch a.Kind {
	case NewFingerprint:
		return fmt.Sprintf("new failure pattern in the DLQ: %s, %s in %s (%d)", a.Reason,
			cmp.Or(a.Fingerprint, "without an error"), a.Namespace, a.Cases)
	case FrequentReason:
		return fmt.Sprintf("%d tasks moved to the DLQ for %s", a.Cases, a.Reason)
	default:
		return fmt.Sprintf("%d retryable tasks in DLQ, consider bulk replay", a.Cases)
	}
}
