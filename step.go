package tasker

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// StepState is the state of a step.
type StepState string

// The states of steps. Complete, skipped and resolved_manually satisfy dependants.
const (
	// A step is pending while it waits for its parents, enqueued while a worker can claim it, assigned when a worker
	// holds it, and in_progress when that worker has started it. A waiting step waits for something other than a
	// worker; a step is skipped if its condition did not hold.
	StepPending                  StepState = "pending"
	StepWaiting                  StepState = "waiting"
	StepEnqueued                 StepState = "enqueued"
	StepAssigned                 StepState = "assigned"
	StepInProgress               StepState = "in_progress"
	StepEnqueuedForOrchestration StepState = "enqueued_for_orchestration"
	StepWaitingForRetry          StepState = "waiting_for_retry"
	StepComplete                 StepState = "complete"
	StepSkipped                  StepState = "skipped"
	StepError                    StepState = "error"
	StepCancelled                StepState = "cancelled"
	StepResolvedManually         StepState = "resolved_manually"
)

// Step is the unit that a worker runs. Progress fields are those of the running attempt.
type Step struct {
	StepUUID uuid.UUID `json:"step_uuid"`
	TaskUUID uuid.UUID `json:"task_uuid"`
	Name     string    `json:"name"`
	Handler  string    `json:"handler"`
	State    StepState `json:"current_state"`

	Dependencies          []string `json:"dependencies,omitempty"`
	TotalParents          int      `json:"total_parents"`
	CompletedParents      int      `json:"completed_parents"`
	DependenciesSatisfied bool     `json:"dependencies_satisfied"`
	RetryEligible         bool     `json:"retry_eligible" doc:"Whether the failed step can run again now: retryable, attempts left, and back-off over (next_retry_at)."`
	ReadyForExecution     bool     `json:"ready_for_execution" doc:"Whether a worker can claim it now."`

	Attempts    int `json:"attempts" doc:"Attempts started since the last reset."`
	MaxAttempts int `json:"max_attempts" doc:"Maximum number of attempts, including the first."`

	Priority             Priority   `json:"priority"`
	EffectivePriority    Priority   `json:"effective_priority" doc:"Level with the wait included while it waits for a worker; else its own level."`
	RequiredCapabilities []string   `json:"required_capabilities,omitempty"`
	TimeoutSeconds       int        `json:"timeout_seconds"`
	CreatedAt            time.Time  `json:"created_at"`
	ReadyAt              *time.Time `json:"ready_at,omitempty" doc:"Time at which it was last enqueued."`
	LastAttemptedAt      *time.Time `json:"last_attempted_at,omitempty"`
	LastFailureAt        *time.Time `json:"last_failure_at,omitempty"`
	NextRetryAt          *time.Time `json:"next_retry_at,omitempty"`
	CompletedAt          *time.Time `json:"completed_at,omitempty"`

	Worker          string          `json:"worker,omitempty" doc:"Worker that holds it or ran it last."`
	LeaseExpiresAt  *time.Time      `json:"lease_expires_at,omitempty"`
	ProgressPercent *int            `json:"progress_percent,omitempty"`
	StatusMessage   string          `json:"status_message,omitempty"`
	Results         json.RawMessage `json:"results,omitempty"`
	LargeResult     *LargeResult    `json:"large_result,omitempty" doc:"A result that is kept apart because of its size, instead of results; get it from /large_result of the step."`
	Checkpoint      *Checkpoint     `json:"checkpoint,omitempty" doc:"Last checkpoint of an attempt, which the next one receives. Absent once the step is complete."`
	ResultsOmitted  bool            `json:"results_omitted,omitempty" doc:"The step has ended and its result was omitted from the list; request the step to get it."`
	LastError       *Failure        `json:"last_error,omitempty"`

	Children *StepChildren `json:"children,omitempty" doc:"Child tasks of the step, counted."`

	ResolvedBy       string `json:"resolved_by,omitempty" doc:"Actor of the last act on the step."`
	ResolvedByKey    string `json:"resolved_by_key,omitempty" doc:"Name of that actor's API key."`
	ResolutionReason string `json:"resolution_reason,omitempty"`
	Damage           string `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`

	Wait *StepWait `json:"wait,omitempty" doc:"What the step waits for, in state waiting."`

	OnFailure bool `json:"on_failure,omitempty" doc:"It runs only after the task has failed."`

	ETag string `json:"etag,omitempty" doc:"Changes with the state and each lease of the step. An act with If-Match is refused if it has changed."`
}

// Checkpoint is the stored position of an attempt.
type Checkpoint struct {
	At    time.Time       `json:"stored_at"`
	Bytes int             `json:"bytes" doc:"Size of the value."`
	Lease int64           `json:"lease" doc:"Number of the lease under which it was stored; see the attempts of the history."`
	Value json.RawMessage `json:"value,omitempty" doc:"Left out of lists of steps without results, and where the checkpoints of a task are too large for a page."`
}

// StepWait is the wait of a step in state waiting.
type StepWait struct {
	Kind     string     `json:"kind" doc:"time, approval or signal."`
	Approval string     `json:"approval,omitempty" doc:"What a human decides."`
	Signal   string     `json:"signal,omitempty" doc:"Name of the signal."`
	Key      string     `json:"key,omitempty" doc:"Key of the signal."`
	Until    *time.Time `json:"until,omitempty" doc:"End of the wait; absent without end."`
}

// StepChildren counts the child tasks of a step by state.
type StepChildren struct {
	Total     int `json:"total" doc:"Number of children; 0 until the list of items has been read."`
	Submitted int `json:"submitted"`
	Running   int `json:"running"`
	Done      int `json:"done" doc:"Children that are complete or resolved manually."`
	Errors    int `json:"errors" doc:"Children in error, which may be repaired."`
	GivenUp   int `json:"given_up" doc:"Children that were cancelled, or could not be submitted."`
}

// Failure describes a failed attempt, as the worker reports it. The SDK cuts long fields, so that the server does not
// refuse the result.
type Failure struct {
	Type              string          `json:"error_type,omitempty" doc:"Class of the error." maxLength:"255"`
	Message           string          `json:"message" doc:"Truncated to 8 KiB."`
	Stack             string          `json:"stack_trace,omitempty" doc:"Truncated to 32 KiB."`
	Code              string          `json:"code,omitempty" doc:"The application's own code." maxLength:"255"`
	HTTPStatus        int             `json:"http_status,omitempty"`
	ResponseBody      string          `json:"response_body,omitempty" doc:"Truncated to 8 KiB."`
	Retryable         *bool           `json:"retryable,omitempty" doc:"False fails the step permanently. Defaults to true."`
	Class             FailureClass    `json:"class,omitempty" enum:"transient,resource,logic,worker" doc:"Class of the failure; limits the retries. Defaults to logic if retryable is false, else to the class of the code or error_type, else to transient."`
	RetryAfterSeconds float64         `json:"retry_after_seconds,omitempty" doc:"Earliest next attempt, from a Retry-After header." minimum:"0"`
	Details           json.RawMessage `json:"details,omitempty"`
}

// FailureClass is the kind of a failure. "" leaves the class to the server.
type FailureClass string

// The classes of failures. The server's configuration or the template sets the retries for each.
const (
	ClassTransient FailureClass = "transient" // a condition outside of the step that may pass
	ClassResource  FailureClass = "resource"  // the attempt needed more time or memory than it had
	ClassLogic     FailureClass = "logic"     // the same input will fail the same way
	ClassWorker    FailureClass = "worker"    // the worker is the cause, not the step
)

// Error lets a handler return a Failure with code, HTTP status and response body.
func (f *Failure) Error() string {
	switch {
	case f.Message != "":
		return f.Message
	case f.Code != "":
		return f.Code
	}
	return f.Type
}

// Attempt is one execution of a step. Released and snoozed attempts are listed but not charged.
type Attempt struct {
	StepUUID   uuid.UUID  `json:"step_uuid"`
	StepName   string     `json:"step_name"`
	Attempt    int        `json:"attempt" doc:"Counted from 1 since the last reset."`
	Lease      int64      `json:"lease" doc:"Number of the lease; grows with each lease of the step. The token of the lease begins with it."`
	Worker     string     `json:"worker,omitempty"`
	WorkerID   *uuid.UUID `json:"worker_id,omitempty" doc:"Absent when the worker has been deleted."`
	Outcome    string     `json:"outcome" doc:"running, completed, failed, timed_out, lease_expired, not_started, dispatch_expired, released, snoozed, cancelled."`
	ReadyAt    *time.Time `json:"ready_at,omitempty"`
	AssignedAt *time.Time `json:"assigned_at,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Error      *Failure   `json:"error,omitempty"`
	Damage     string     `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`
}

// AttemptLog is the end of an attempt's log.
type AttemptLog struct {
	StepUUID uuid.UUID `json:"step_uuid"`
	Attempt  int       `json:"attempt" doc:"Number of the attempt, counted from 1 since the last reset."`
	Lease    int64     `json:"lease" doc:"Number of the lease; see the attempts of the history."`
	At       time.Time `json:"stored_at"`
	Bytes    int64     `json:"bytes" doc:"Size of all that the attempt has logged."`
	Text     string    `json:"text" doc:"The end of it, as the worker sent it: it may contain control characters."`
}

// StepAction is an operator's act on a step; its actor and reason are stored. Exactly one of ResetBy, ResolvedBy,
// CompletedBy and DecidedBy is used: the one of the act.
type StepAction struct {
	ActionType        string          `json:"action_type" enum:"reset_for_retry,resolve_manually,complete_manually,approve,reject"`
	ResetBy           string          `json:"reset_by,omitempty" maxLength:"255"`
	ResolvedBy        string          `json:"resolved_by,omitempty" maxLength:"255"`
	CompletedBy       string          `json:"completed_by,omitempty" maxLength:"255"`
	DecidedBy         string          `json:"decided_by,omitempty" doc:"Actor of approve and reject." maxLength:"255"`
	Reason            string          `json:"reason" minLength:"1" maxLength:"4096"`
	DiscardCheckpoint bool            `json:"discard_checkpoint,omitempty" doc:"With reset_for_retry: delete the checkpoint of the step, so that it begins from the start. By default the next attempt receives it."`
	ExpectedState     string          `json:"expected_state,omitempty" doc:"Expected state of the step. In any other state the act is refused with conflict." enum:"pending,waiting,enqueued,assigned,in_progress,enqueued_for_orchestration,waiting_for_retry,complete,skipped,error,cancelled,resolved_manually"`
	IfMatch           string          `json:"if_match,omitempty" doc:"Expected etag. If the etag has changed, the act is refused with conflict. Same as the header If-Match." maxLength:"1024"`
	CompletionData    *CompletionData `json:"completion_data,omitempty" doc:"Required by complete_manually, refused by the other acts."`
}

// The acts on a step.
const (
	// ResetForRetry returns a step in error to pending with no attempts used; it then runs again automatically. It is
	// allowed in state error only; cancelled is final.
	ResetForRetry = "reset_for_retry"
	// ResolveManually lets dependants continue as if the step had succeeded, without results.
	ResolveManually = "resolve_manually"
	// CompleteManually completes the step with results that dependants read.
	CompleteManually = "complete_manually"
	// Approve completes a step that waits for an approval, with the decision as its result. Reject puts it in error,
	// unless its template continues.
	Approve = "approve"
	Reject  = "reject"
)

// CompletionData is the result that an operator supplies instead of a worker's.
type CompletionData struct {
	Result   json.RawMessage `json:"result"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}
