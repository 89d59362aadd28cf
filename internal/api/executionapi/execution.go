package executionapi

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// ExecutionRequest asks for one execution of an action.
type ExecutionRequest struct {
	ActionRef  string          `json:"action_ref" doc:"Action to run: the last registered version of the template of this name, else the handler of this name." minLength:"1" maxLength:"255"`
	Parameters json.RawMessage `json:"parameters,omitempty" doc:"Input of the action, any JSON value. Limited to 256 KiB by default."`
	Namespace  string          `json:"namespace,omitempty" doc:"Namespace of the action. Defaults to \"default\"." maxLength:"255"`

	Priority             tasker.Priority `json:"priority,omitempty" doc:"high, medium, low, or an integer level from 0 to 100, higher first. Defaults to the priority of the template, else medium."`
	RequiredCapabilities []string        `json:"required_capabilities,omitempty" doc:"Capabilities that a worker must have; only for a handler." maxItems:"32"`
	TimeoutSeconds       int             `json:"timeout_seconds,omitempty" doc:"Time limit of one attempt; only for a handler. The default depends on the priority." minimum:"0" maximum:"2592000"`
	MaxRetries           *int            `json:"max_retries,omitempty" doc:"Retries after the first attempt; only for a handler. The default depends on the priority." minimum:"0" maximum:"1000"`
	RunAt                *time.Time      `json:"run_at,omitempty" doc:"Earliest start."`

	IdempotencyKey string `json:"idempotency_key,omitempty" doc:"Unique per namespace for 24 hours. A second request returns the first execution." maxLength:"255"`
	CorrelationID  string `json:"correlation_id,omitempty" maxLength:"255"`
	Initiator      string `json:"initiator,omitempty" doc:"Person or system that requests the execution." maxLength:"255"`
	Caller         string `json:"-"`
	TraceParent    string `json:"-"`
}

// Execution is a task as an execution of an action.
type Execution struct {
	ID        uuid.UUID        `json:"id" doc:"UUID of the task."`
	ActionRef string           `json:"action_ref" doc:"Name of the template or of the handler."`
	Namespace string           `json:"namespace"`
	Status    Status           `json:"status" enum:"requested,scheduling,scheduled,running,completed,failed,canceling,cancelled,timeout,abandoned"`
	State     tasker.TaskState `json:"state" doc:"State of the task; status is a simplified form of it."`
	ETag      string           `json:"etag,omitempty" doc:"Changes with the state and progress of the execution. An act with If-Match is refused if it has changed."`

	Parameters json.RawMessage `json:"parameters,omitempty"`
	Result     json.RawMessage `json:"result" doc:"Result of the handler; for several steps, an object by step name. Of an execution that failed: an object with error, message, code, worker and expired_at, as far as they are known. Null until there is one."`

	Worker     string     `json:"worker,omitempty" doc:"Name of the worker that holds it."`
	WorkerID   *uuid.UUID `json:"worker_id,omitempty"`
	Created    time.Time  `json:"created"`
	StartedAt  *time.Time `json:"started_at,omitempty" doc:"Start of the last attempt."`
	FinishedAt *time.Time `json:"finished_at,omitempty"`

	RetryCount  int         `json:"retry_count"`
	MaxRetries  int         `json:"max_retries"`
	RetryReason RetryReason `json:"retry_reason,omitempty" enum:"worker_unavailable,queue_timeout,worker_heartbeat_stale,transient_error,manual_retry,unknown" doc:"Why it was last tried again; absent if it was not."`
	NextRetryAt *time.Time  `json:"next_retry_at,omitempty"`

	Priority       tasker.Priority `json:"priority"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	CorrelationID  string          `json:"correlation_id,omitempty"`
	Initiator      string          `json:"initiator,omitempty"`
	Damage         string          `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`
}

// ListedExecution is an execution as a list shows it: without parameters, result and worker.
type ListedExecution struct {
	ID             uuid.UUID        `json:"id" doc:"UUID of the task."`
	ActionRef      string           `json:"action_ref" doc:"Name of the template or of the handler."`
	Namespace      string           `json:"namespace"`
	Status         Status           `json:"status" enum:"requested,scheduling,scheduled,running,completed,failed,canceling,cancelled,timeout,abandoned"`
	State          tasker.TaskState `json:"state" doc:"State of the task; status is a simplified form of it."`
	Priority       tasker.Priority  `json:"priority"`
	Created        time.Time        `json:"created"`
	StartedAt      *time.Time       `json:"started_at,omitempty" doc:"Start of the last attempt."`
	FinishedAt     *time.Time       `json:"finished_at,omitempty"`
	RetryCount     int              `json:"retry_count"`
	MaxRetries     int              `json:"max_retries"`
	NextRetryAt    *time.Time       `json:"next_retry_at,omitempty"`
	IdempotencyKey string           `json:"idempotency_key,omitempty"`
	CorrelationID  string           `json:"correlation_id,omitempty"`
	Initiator      string           `json:"initiator,omitempty"`
	Damage         string           `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`
}

// Filter selects executions, newest first. Zero fields do not restrict.
type Filter struct {
	Statuses       []Status
	ActionRef      string // with * for any characters
	ResultContains string
	Namespace      string
	Initiator      string
	CreatedAfter   *time.Time // inclusive
	CreatedBefore  *time.Time // exclusive
	Limit          int        // 1 to MaxPage; 0 is 50
	Cursor         string     // NextCursor of the previous page
}

// MaxPage bounds the executions of a page.
const MaxPage = 100

// ExecutionPage may have fewer executions than the limit, even none, and still have a next page; only an empty
// NextCursor is the end.
type ExecutionPage struct {
	Executions []ListedExecution `json:"executions"`
	NextCursor string            `json:"next_cursor,omitempty" doc:"cursor of the next page; absent on the last page."`
}

// ExecutionStats counts executions. Ended ones count for the last minute only: counting all would read all tasks.
type ExecutionStats struct {
	At               time.Time `json:"at"`
	Scheduling       int       `json:"scheduling" doc:"Ready for a worker. Steps are counted, here and below."`
	Scheduled        int       `json:"scheduled" doc:"Assigned to a worker that has not started them."`
	Running          int       `json:"running"`
	Completed        int       `json:"completed_last_minute"`
	Failed           int       `json:"failed_last_minute"`
	OldestAgeSeconds *float64  `json:"oldest_age_seconds" doc:"Longest wait for a worker; null if nothing waits."`
	Capped           bool      `json:"capped" doc:"Whether scheduling is a lower bound (one million)."`
}

// ExecutionCancel is the actor and the reason of a cancellation.
type ExecutionCancel struct {
	CancelledBy string `json:"cancelled_by,omitempty" doc:"Actor. Defaults to the name of the API key, else to anonymous." maxLength:"255"`
	Reason      string `json:"reason,omitempty" doc:"Reason for the act. Defaults to \"no reason given\"." maxLength:"1024"`
}

// ExecutionRetry is the actor and the reason of a retry.
type ExecutionRetry struct {
	RetriedBy       string `json:"retried_by,omitempty" doc:"Actor. Defaults to the name of the API key, else to anonymous." maxLength:"255"`
	Reason          string `json:"reason,omitempty" doc:"Reason for the act. Defaults to \"no reason given\"." maxLength:"4096"`
	ResetRetryCount bool   `json:"reset_retry_count,omitempty" doc:"Give the failed steps all their attempts again. Otherwise they have the attempts left, at least one."`
}

// ExecutionChange is an event of a stream of executions.
type ExecutionChange struct {
	ID        string     `json:"id" doc:"ID to resume after this event, as Last-Event-ID."`
	Type      string     `json:"type" enum:"execution.created,execution.status,stream.open,stream.gap,stream.alive,stream.end"`
	At        time.Time  `json:"at"`
	Execution *uuid.UUID `json:"execution_id,omitempty"`
	ActionRef string     `json:"action_ref,omitempty"`
	Namespace string     `json:"namespace,omitempty"`
	Status    Status     `json:"status,omitempty" enum:"requested,scheduling,completed,failed,cancelled" doc:"scheduling: a worker can take it, or has it. failed: also timeout and abandoned."`
	Cause     string     `json:"cause,omitempty" doc:"Cause of the event; for a gap, its reason."`
}

// EventName is the name of the event in a stream.
func (c *ExecutionChange) EventName() string { return c.Type }
