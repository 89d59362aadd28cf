package task

import "github.com/taskerhq/tasker/internal/model/failure"

// Outcome is how an attempt ended.
type Outcome string

// Outcomes of an attempt.
const (
	Running      Outcome = "running"
	Completed    Outcome = "completed"
	Failed       Outcome = "failed"
	TimedOut     Outcome = "timed_out"
	LeaseExpired Outcome = "lease_expired" // the worker died or stopped renewing
	NotStarted   Outcome = "not_started"
	Released     Outcome = "released" // given back, without a charge
	Snoozed      Outcome = "snoozed"
	Interrupted  Outcome = "cancelled" // by a cancellation or an operator
	// DispatchExpired ended in a worker's queue.
	DispatchExpired Outcome = "dispatch_expired"
)

// Attempt records a lease that ended without success. The step itself records a success.
type Attempt struct {
	StepID     ID
	TaskID     ID
	Token      int64
	Number     int // attempts begun, including this one if it began
	WorkerNo   int64
	Outcome    Outcome
	ReadyAt    Instant
	AssignedAt Instant
	StartedAt  Instant
	FinishedAt Instant
	After      StepState
	Failure    *Failure
	Unread     string
	DefID      int64
}

// Failure is the worker's report of a failed attempt.
type Failure struct {
	Type         string        `json:"error_type,omitempty"`
	Message      string        `json:"message"`
	Stack        string        `json:"stack_trace,omitempty"`
	Code         string        `json:"code,omitempty"`
	HTTPStatus   int           `json:"http_status,omitempty"`
	ResponseBody string        `json:"response_body,omitempty"`
	Retryable    bool          `json:"retryable"`
	Class        failure.Class `json:"class,omitempty"`
	RetryAfterMS int64         `json:"retry_after_ms,omitempty"`
	Details      []byte        `json:"details,omitempty"`
}

// EndAttempt returns the record of the current lease. Call it before the step changes its state.
func (s *Step) EndAttempt(now Instant, outcome Outcome, f *Failure) Attempt {
	return Attempt{StepID: s.ID, TaskID: s.TaskID, Token: s.Token, Number: s.Attempts, WorkerNo: s.WorkerNo,
		Outcome: outcome,
		ReadyAt: s.ReadyAt, AssignedAt: s.AssignedAt, StartedAt: s.StartedAt, FinishedAt: now, Failure: f, DefID: s.DefID}
}

// Limits of a stored failure, in bytes.
const (
	maxFailureName  = 255
	maxFailureText  = 8 << 10
	maxFailureStack = 32 << 10
)

// Trim cuts and marks long texts and replaces invalid UTF-8: the form of a failure is never a reason to refuse it.
func (f *Failure) Trim() {
	f.Type = failure.Cut(f.Type, maxFailureName)
	f.Code = failure.Cut(f.Code, maxFailureName)
	f.Message = failure.Cut(f.Message, maxFailureText)
	f.Stack = failure.Cut(f.Stack, maxFailureStack)
	f.ResponseBody = failure.Cut(f.ResponseBody, maxFailureText)
	f.RetryAfterMS = max(f.RetryAfterMS, 0)
}

// ClassOf returns the class of a failure.
func ClassOf(f *Failure) failure.Class { return failure.ClassOf(f.report()) }

// Fingerprint of nil is "".
func (f *Failure) Fingerprint() string {
	if f == nil {
		return ""
	}
	return failure.Fingerprint(f.report())
}

func (f *Failure) report() failure.Report {
	return failure.Report{Type: f.Type, Code: f.Code, Message: f.Message, Class: f.Class, Retryable: f.Retryable}
}
