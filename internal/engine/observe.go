package engine

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Observer receives the effects of write transactions, for metrics and traces. The engine depends on no library for
// either.
//
// Its methods run in the goroutine of the transaction, while callers wait for their answers: they must be quick, safe
// for concurrent use, and must not call the engine.
type Observer interface {
	// Committed is called once per committed transaction. The engine reuses the Commit: an observer must not keep any
	// part of it.
	Committed(c *Commit)
	// Failed is called for a transaction that was not committed.
	Failed(verb string, took time.Duration, err error)
	// Detected is called after each cycle of the staleness detection, including one that found nothing or failed.
	Detected(d Detection)
	// Probed is called after a round of health probes, with the numbers of healthy and of failed workers.
	Probed(good, failed int)
	// WorkerFailed is called for each worker that becomes dead because its heartbeats stopped (FailedHeartbeat), or
	// unhealthy by its probes (FailedProbe).
	WorkerFailed(reason string)
	// Refused is called when back-pressure refuses a submission, with its number of tasks.
	Refused(why Refusal, tasks int)
	// Analyzed is called after each analysis of the failed tasks.
	Analyzed(a *Analysis)
	// AttemptTrace returns the trace context (W3C traceparent) that a worker receives with a step, for a task that was
	// submitted under parent.
	AttemptTrace(parent string, step task.ID, token int64) string
}

// The reasons for which a worker has failed.
const (
	FailedHeartbeat = "heartbeat"
	FailedProbe     = "health_probe"
)

// Commit is the effect of one transaction. Its slices are empty, not nil, where nothing
// happened, because it is reused.
type Commit struct {
	Verb    string // submit, claim, start, settle, ...
	At      task.Instant
	Took    time.Duration
	Repeats int // how often it was retried before it was committed

	// PriorityName names a level.
	PriorityName func(level int) string

	// Names resolves the keys below.
	Names Names

	Submitted []int64   // new tasks, by the key of their template
	Handed    []Handed  // steps given to workers
	Started   []Started // attempts begun
	Ended     []Ended   // attempts that ended
	Settled   []Settled // tasks that are terminal now, or in error
	Reopened  []int64   // tasks taken out of error, by the key of their template
	Expired   int       // of Settled: tasks that took longer than their max_duration
	Known     int       // submissions answered with an existing task of the same idempotency key
	Unique    UniqueCounts
	Promoted  []Promoted
	TaskMoves []TaskMove
	StepMoves []StepMove // except those in Handed, Started and Ended
	Refused   int        // results and leases under a token that was not in force
	Acts      []string   // operators' acts, by kind
	Turned    []BreakerTurned
	Opened    []CaseOpened
	Recurred  []CaseOpened // occurrences in cases that were pending
	Resolved  []CaseResolved

	Transitions []Transition // one by one, with Options.Transitions
}

// Names resolves keys of routes and templates, which hardly ever change. Its methods return nil for a key that is
// unknown or cannot be read now.
type Names interface {
	NamesOfRoute(id int64) *task.Route
	NamesOfTemplate(def int64) *task.Template
}

// Handed is a step that was given to a worker.
type Handed struct {
	RouteID  int64
	Worker   int64 // its number
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
	Task      task.ID // zero: not known in this process; see observed.holdStarted
	Step      task.ID // zero: the task itself
	DefID     int64
	Ordinal   int    // of the step in its template
	From, To  string // From is "" for a new task or step.
	Worker    string // name of the worker that got or had the step; "" for none
	Priority  int
	CreatedAt task.Instant // when the task was submitted; 0: not known
	Attempts  int          // of a step: attempts started since the last reset
	Initiator string       // submitter of the task
	Parent    string       // the W3C traceparent of the submission; "" for none
}

// Promoted is a step that was moved to the position of another level.
type Promoted struct{ From, To int }

// Ended is an attempt that ended, or a lease that ended before an attempt began.
type Ended struct {
	RouteID   int64
	Worker    int64 // its number
	Priority  int
	Outcome   task.Outcome
	After     task.StepState // the state the step was left in
	StartedAt task.Instant   // 0: it never started
	Class     failure.Class  // of a failure; else ""
	Blames    bool           // it points to a fault of the worker; see task.WorkersFault
	Number    int            // of attempts started since the last reset
	Traced    *TracedAttempt // nil unless the task was submitted under a trace
}

// TracedAttempt is the data for the span of an attempt.
type TracedAttempt struct {
	task.Attempt
	Parent  string // the W3C traceparent of the submission
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

// CaseReasons are the reasons for which a case is opened.
var CaseReasons = []string{"staleness_timeout", "max_retries_exceeded", "dependency_cycle_detected",
	"worker_unavailable", "manual_dlq"}

// CaseOpened is an investigation that began, or one whose task was found stuck again.
type CaseOpened struct {
	CaseID, TaskID task.ID
	Reason         string
	Cause          task.CaseCause
	Class          failure.Class // of the failure, "" for none
	OriginalState  task.State    // of the task, before the event that opened the case
	Parent         string        // the W3C traceparent of the submission; "" for none
}

// CaseResolved is an investigation that ended.
type CaseResolved struct {
	CaseID, TaskID task.ID
	Reason         string // why it was opened
	Status         string // how it ended: manually_resolved, permanently_failed, cancelled
	OpenedAt       task.Instant
	Parent         string
}

// Detection is one cycle of the staleness detection. With an Err the counts are those up to the
// error.
type Detection struct {
	At           task.Instant  // when it ended
	Took         time.Duration // all of it
	Interval     time.Duration // until the next one is due
	DryRun       bool
	Detected     int // stale tasks found
	Transitioned int // of these, put in error
	Err          error
}
