package queueapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Backend is the engine as one priority queue: tasks of one step, each with its place and an estimate of its wait. It
// is a view of the same tasks, with fewer states; see QueueStatus.
type Backend interface {
	// EnqueueTasks stores tasks in one transaction and answers each in order. An invalid task, or a full queue, refuses
	// all: CodeExhausted and CodeUnavailable come with a retry time.
	EnqueueTasks(ctx context.Context, req EnqueueRequest) ([]QueueReceipt, error)
	QueueTask(ctx context.Context, id uuid.UUID, history bool) (*QueueTask, error)
	QueueTasks(ctx context.Context, filter QueueTaskFilter) (*QueueTaskPage, error)
	// CancelQueueTask returns CodeWrongState for a finished task.
	CancelQueueTask(ctx context.Context, id uuid.UUID, req QueueCancel) (*QueueCancelled, error)
	QueueStats(ctx context.Context, filter QueueFilter) (*QueueStats, error)
	// Routes returns routes without workers first, then by the longest wait.
	Routes(ctx context.Context, filter RouteFilter) (*RoutePage, error)
}

// QueueStatus is the state of a task in the words of the queue.
type QueueStatus string

// The statuses. A task of several steps is executing while any of them is.
const (
	QueueQueued     QueueStatus = "queued"      // waits for a worker, a retry, run_at, or a dependency
	QueueAssigned   QueueStatus = "assigned"    // leased to a worker that has not begun
	QueueExecuting  QueueStatus = "executing"   // a worker runs it
	QueueCompleted  QueueStatus = "completed"   // completed by a worker or by an operator
	QueueFailed     QueueStatus = "failed"      // failed for good, without a pending case
	QueueStopped    QueueStatus = "cancelled"   // cancelled on request
	QueueDeadLetter QueueStatus = "dead_letter" // failed for good, with a pending case
)

// EnqueueTask is a request for a task of one step.
type EnqueueTask struct {
	TaskType   string          `json:"task_type" doc:"Handler to run." minLength:"1" maxLength:"255"`
	Namespace  string          `json:"namespace,omitempty" doc:"Namespace of the handler. Defaults to \"default\"." maxLength:"255"`
	Priority   tasker.Priority `json:"priority,omitempty" doc:"high, medium, low, or an integer level from 0 to 100, higher first. Defaults to medium."`
	Parameters json.RawMessage `json:"parameters,omitempty" doc:"Input of the task, any JSON value. Limited to 256 KiB by default; store large data elsewhere and submit a reference."`

	RequiredCapabilities     []string   `json:"required_capabilities,omitempty" doc:"Capabilities that a worker must have." maxItems:"32"`
	TimeoutSeconds           int        `json:"timeout_seconds,omitempty" doc:"Time limit of one attempt. The default depends on the priority." minimum:"0" maximum:"2592000"`
	EstimatedDurationSeconds int        `json:"estimated_duration_seconds,omitempty" doc:"Expected duration. Stored and shown only; estimated waits use measurements." minimum:"0" maximum:"604800"`
	MaxRetries               *int       `json:"max_retries,omitempty" doc:"Retries after the first attempt. The default depends on the priority." minimum:"0" maximum:"1000"`
	RunAt                    *time.Time `json:"run_at,omitempty" doc:"Earliest start."`

	IdempotencyKey string         `json:"idempotency_key,omitempty" doc:"Unique per namespace for 24 hours. A second submission returns the first task." maxLength:"255"`
	Unique         *tasker.Unique `json:"unique,omitempty" doc:"Rule by which another task with the same parameters stands for this one."`
	UserID         string         `json:"user_id,omitempty" doc:"Initiator of the task. Limits per user apply to it, within the API key." maxLength:"255"`
	CorrelationID  string         `json:"correlation_id,omitempty" maxLength:"255"`
	Tags           []string       `json:"tags,omitempty" doc:"Tags of the task." maxItems:"32"`
	TraceID        string         `json:"trace_id,omitempty" doc:"W3C trace id, 32 hexadecimal digits. Either this or traceparent." maxLength:"32"`
	TraceParent    string         `json:"traceparent,omitempty" doc:"W3C trace context. Defaults to the traceparent header of the request." maxLength:"255"`
}

// EnqueueRequest submits many tasks in one transaction. One invalid task refuses the whole request, and nothing is
// stored.
type EnqueueRequest struct {
	Tasks  []EnqueueTask `json:"tasks" doc:"At most 1,000 by default." minItems:"1"`
	Caller string        `json:"-"`
}

// QueueReceipt answers one task. Null means unknown.
type QueueReceipt struct {
	TaskID  uuid.UUID           `json:"task_id"`
	Status  QueueStatus         `json:"status"`
	Created bool                `json:"created" doc:"False if the idempotency key or the unique key named an existing task."`
	Unique  *tasker.UniqueMatch `json:"unique,omitempty" doc:"What another task with the same unique key did to the submission."`
	Error   *tasker.Error       `json:"error,omitempty" doc:"For an item of a batch: its idempotency key was used for another submission. This item was not stored; the others were."`
	QueuePlace
}

// QueuePlace is a task's place in the queue, with null fields unless it waits for a worker.
type QueuePlace struct {
	PositionInQueue      *int       `json:"position_in_queue" doc:"Position among all tasks of the matching workers; 1 is next. Null if the task does not wait for a worker or was not counted (a batch counts 32 queues)."`
	QueuePosition        *int       `json:"queue_position" doc:"Same as position_in_queue."`
	PositionIsMinimum    bool       `json:"position_is_minimum,omitempty" doc:"Whether the position is a lower bound; counting stops at 10,000."`
	QueueScore           *float64   `json:"queue_score" doc:"Sort key of the queue in seconds, lowest first."`
	EstimatedWaitSeconds *float64   `json:"estimated_wait_seconds" doc:"Estimated time until a worker claims it, without more urgent arrivals: the position divided by the measured claim rate. Null without a measurement in the last two minutes."`
	EstimatedStartTime   *time.Time `json:"estimated_start_time" doc:"Same as estimated_wait_seconds, as a time."`
}

// QueueTask is a task as the queue shows it.
type QueueTask struct {
	TaskID    uuid.UUID        `json:"task_id"`
	Namespace string           `json:"namespace"`
	TaskType  string           `json:"task_type" doc:"Name of the task: the handler or the template."`
	Status    QueueStatus      `json:"status"`
	State     tasker.TaskState `json:"state" doc:"State of the task; status is a simplified form of it."`
	ETag      string           `json:"etag,omitempty" doc:"Changes with the state and progress of the task. An act with If-Match is refused if it has changed."`

	Priority          tasker.Priority `json:"priority"`
	EffectivePriority tasker.Priority `json:"effective_priority" doc:"Priority with the wait included."`
	Progress          int             `json:"progress" doc:"Percent."`

	CreatedAt   time.Time  `json:"created_at"`
	QueuedAt    *time.Time `json:"queued_at,omitempty" doc:"Time at which it last became ready for a worker."`
	AssignedAt  *time.Time `json:"assigned_at,omitempty"`
	StartedAt   *time.Time `json:"started_at,omitempty" doc:"Start of the last attempt."`
	CompletedAt *time.Time `json:"completed_at,omitempty" doc:"End of the task, with any outcome."`
	NextRetryAt *time.Time `json:"next_retry_at,omitempty" doc:"Time at which a waiting task becomes ready: a retry or run_at."`

	CurrentStateDurationSeconds float64        `json:"current_state_duration_seconds" doc:"Time in the current status."`
	StateHistory                []QueueStateAt `json:"state_history,omitempty" doc:"Earlier statuses, oldest first; only with include_history."`

	AssignedWorker   string     `json:"assigned_worker,omitempty" doc:"Name of the worker that holds it."`
	AssignedWorkerID *uuid.UUID `json:"assigned_worker_id,omitempty"`
	RetryCount       int        `json:"retry_count"`
	MaxRetries       int        `json:"max_retries"`
	ReplayCount      int        `json:"replay_count,omitempty" doc:"Number of replays after a failure."`
	QueuePlace

	Parameters json.RawMessage `json:"parameters,omitempty"`
	Result     json.RawMessage `json:"result" doc:"Result of the handler; for several steps, an object by step name. Null until there is one."`
	Error      *QueueError     `json:"error,omitempty" doc:"Latest failure; absent if there was none."`

	TimeoutSeconds           int      `json:"timeout_seconds"`
	EstimatedDurationSeconds int      `json:"estimated_duration_seconds,omitempty"`
	RequiredCapabilities     []string `json:"required_capabilities,omitempty"`
	IdempotencyKey           string   `json:"idempotency_key,omitempty"`
	UserID                   string   `json:"user_id,omitempty"`
	CorrelationID            string   `json:"correlation_id,omitempty"`
	TraceID                  string   `json:"trace_id,omitempty"`
	Damage                   string   `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`
}

// QueueTaskFilter selects tasks. Zero fields do not restrict.
type QueueTaskFilter struct {
	Statuses      []QueueStatus   `query:"status"`
	Namespace     string          `query:"namespace"`
	TaskType      string          `query:"task_type"` // handler, or name of the template
	Priority      tasker.Priority `query:"priority"`
	UserID        string          `query:"user_id"`
	CreatedAfter  *time.Time      `query:"created_after"`  // inclusive
	CreatedBefore *time.Time      `query:"created_before"` // exclusive
	Limit         int             `query:"limit"`          // 1 to 1000; 0 is 50
	Cursor        string          `query:"cursor"`         // NextCursor of the previous page
}

// QueueTaskPage may have fewer tasks than the limit, even none, and still have a next page; only an empty NextCursor is
// the end.
type QueueTaskPage struct {
	Tasks      []QueueListed `json:"tasks"`
	NextCursor string        `json:"next_cursor,omitempty" doc:"cursor of the next page; absent on the last page."`
}

// QueueListed is a task in a list of the queue: the fields of its rows alone.
type QueueListed struct {
	TaskID            uuid.UUID        `json:"task_id"`
	Namespace         string           `json:"namespace"`
	TaskType          string           `json:"task_type" doc:"Name of the task: the handler or the template."`
	Status            QueueStatus      `json:"status"`
	State             tasker.TaskState `json:"state" doc:"State of the task; status is a simplified form of it."`
	Priority          tasker.Priority  `json:"priority"`
	EffectivePriority tasker.Priority  `json:"effective_priority" doc:"Priority with the wait included."`
	Progress          int              `json:"progress" doc:"Percent."`
	CreatedAt         time.Time        `json:"created_at"`
	QueuedAt          *time.Time       `json:"queued_at,omitempty" doc:"Time at which it last became ready for a worker."`
	StartedAt         *time.Time       `json:"started_at,omitempty" doc:"Start of the last attempt."`
	CompletedAt       *time.Time       `json:"completed_at,omitempty" doc:"End of the task, with any outcome."`
	NextRetryAt       *time.Time       `json:"next_retry_at,omitempty" doc:"Time at which a waiting task becomes ready: a retry or run_at."`
	QueueScore        *float64         `json:"queue_score" doc:"Sort key of the queue in seconds, lowest first. Null if the task does not wait for a worker."`
	RetryCount        int              `json:"retry_count"`
	MaxRetries        int              `json:"max_retries"`
	IdempotencyKey    string           `json:"idempotency_key,omitempty"`
	UserID            string           `json:"user_id,omitempty"`
	CorrelationID     string           `json:"correlation_id,omitempty"`
	Damage            string           `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`
}

// QueueStateAt is the time at which a task got a status.
type QueueStateAt struct {
	State     QueueStatus `json:"state"`
	Timestamp time.Time   `json:"timestamp"`
	WorkerID  *uuid.UUID  `json:"worker_id,omitempty" doc:"Worker that has or had it."`
}

// QueueError is the error of a failed task.
type QueueError struct {
	Message       string              `json:"message"`
	Code          string              `json:"code,omitempty"`
	Type          string              `json:"error_type,omitempty"`
	Class         tasker.FailureClass `json:"class,omitempty" enum:"transient,resource,logic,worker"`
	Retryable     bool                `json:"retryable"`
	FailureReason string              `json:"failure_reason" doc:"Outcome of the attempt: failed, timed_out, lease_expired, not_started, dispatch_expired."`
	Details       json.RawMessage     `json:"details,omitempty"`
}

// QueueCancel is the actor and reason of a cancellation.
type QueueCancel struct {
	CancelledBy string // defaults to the API key's name, else to anonymous
	Reason      string // defaults to none
	// ExpectedState refuses the cancellation with CodeConflict unless the task is in that state; IfMatch, unless its
	// etag is in the list.
	ExpectedState tasker.TaskState
	IfMatch       string
}

// QueueCancelled answers a cancellation.
type QueueCancelled struct {
	TaskID           uuid.UUID   `json:"task_id"`
	Status           QueueStatus `json:"status"`
	CancellationTime time.Time   `json:"cancellation_time"`
	WasExecuting     bool        `json:"was_executing" doc:"Whether a worker was executing the task."`
	WorkerNotified   bool        `json:"worker_notified" doc:"Whether a worker holds the task and will be notified with its next heartbeat. All its reports are refused from now on. False if no worker holds the task."`
	NotifiedBy       *time.Time  `json:"worker_notified_by" doc:"Time at which its next heartbeat is due; null if no worker holds the task."`
}

// QueueFilter filters QueueStats.
type QueueFilter struct {
	Namespaces []string `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
}

// QueueStats is the content of the queue in numbers.
type QueueStats struct {
	At     time.Time                  `json:"at" doc:"Time of the count."`
	Queue  QueueTotals                `json:"queue"`
	Queues map[string]QueueOfPriority `json:"queues" doc:"By priority: the name of a level, or its number if it has none."`

	Aging        QueueAging        `json:"aging_stats"`
	Workers      QueueWorkers      `json:"workers"`
	Throughput   QueueThroughput   `json:"throughput"`
	Recovery     QueueRecovery     `json:"recovery_stats"`
	Backpressure QueueBackpressure `json:"backpressure"`
	Dispatch     QueueDispatch     `json:"dispatch"`
}

// QueueTotals are the numbers of all priorities.
type QueueTotals struct {
	TotalDepth int            `json:"total_depth" doc:"Ready steps that wait for a worker, without leased steps."`
	ByPriority map[string]int `json:"by_priority" doc:"The same, by priority."`
	QueueDepth int            `json:"queue_depth" doc:"Same as total_depth."`
	Executing  int            `json:"executing" doc:"Leased steps."`
	Processing int            `json:"processing" doc:"Same as executing."`

	OldestAgeSeconds *float64 `json:"oldest_age_seconds" doc:"Longest wait; null if no step waits."`
	P50AgeSeconds    *float64 `json:"p50_age_seconds"`
	P95AgeSeconds    *float64 `json:"p95_age_seconds"`
	Sampled          bool     `json:"sampled" doc:"Ages and numbers by priority come from a sample of 10,000 steps."`
	Capped           bool     `json:"capped" doc:"Whether the count is a lower bound (one million)."`
}

// QueueOfPriority has the numbers of one priority.
type QueueOfPriority struct {
	Level            int      `json:"level" doc:"Level from 0 to 100, higher first."`
	Depth            int      `json:"depth" doc:"Ready steps that wait for a worker."`
	Pending          int      `json:"pending" doc:"Same as depth."`
	Assigned         int      `json:"assigned" doc:"Assigned steps that have not started."`
	Executing        int      `json:"executing" doc:"Steps that workers are executing."`
	Processing       int      `json:"processing" doc:"Leased steps: assigned and executing."`
	OldestAgeSeconds *float64 `json:"oldest_age_seconds" doc:"Longest wait; null if no step waits."`
}

// QueueAging are the numbers of steps with long waits.
type QueueAging struct {
	OldestQueuedTaskAgeSeconds *float64 `json:"oldest_queued_task_age_seconds"`
	TasksWaitingOverThreshold  int      `json:"tasks_waiting_over_threshold"`
	ThresholdSeconds           *float64 `json:"threshold_seconds" doc:"Wait after which the lowest priority is promoted or goes first; null if never."`
}

// QueueWorkers are the numbers of workers.
type QueueWorkers struct {
	Total         int `json:"total" doc:"Workers that are not dead."`
	TotalWorkers  int `json:"total_workers" doc:"Same as total."`
	Active        int `json:"active"`
	Idle          int `json:"idle" doc:"Active workers without steps."`
	IdleWorkers   int `json:"idle_workers" doc:"Same as idle."`
	Busy          int `json:"busy" doc:"Active workers with steps."`
	Draining      int `json:"draining"`
	Unhealthy     int `json:"unhealthy"`
	Dead          int `json:"dead" doc:"Workers that died within the last hour."`
	CircuitOpen   int `json:"circuit_open" doc:"Workers with an open circuit breaker."`
	TotalCapacity int `json:"total_capacity" doc:"Total capacity of the live workers that registered one."`
	UsedCapacity  int `json:"used_capacity" doc:"Steps that live workers hold, as counted by the server."`
}

// QueueThroughput is the throughput of all nodes in the last minute.
type QueueThroughput struct {
	CompletedLastMinute    int      `json:"completed_last_minute" doc:"Completed tasks."`
	FailedLastMinute       int      `json:"failed_last_minute" doc:"Permanently failed tasks."`
	HandedOutLastMinute    int      `json:"handed_out_last_minute" doc:"Claimed steps."`
	AvgTaskDurationSeconds *float64 `json:"avg_task_duration_seconds" doc:"Mean duration of ended attempts; null if there are none."`
}

// QueueRecovery is the recovery on all nodes in the last hour.
type QueueRecovery struct {
	AssignmentTimeouts  int       `json:"assignment_timeouts_last_hour" doc:"Steps that were assigned and not started in time."`
	VisibilityTimeouts  int       `json:"visibility_timeouts_last_hour" doc:"Expired leases of running steps."`
	HealthProbeFailures *int      `json:"health_probe_failures_last_hour" doc:"Null if workers are not probed."`
	MeasuredSince       time.Time `json:"measured_since" doc:"Start of the count on the first node; may be less than an hour ago."`
}

// QueueBackpressure is the present back-pressure of the answering node.
type QueueBackpressure struct {
	Scope      string           `json:"scope" doc:"Which submissions can be refused: queue (those through /api/v1) or all."`
	State      string           `json:"state" enum:"open,soft,high_only,allow_list_only,overloaded" doc:"open: all submissions are accepted. Else the current tier, or overloaded."`
	InHand     int              `json:"in_hand" doc:"Submitted tasks that are not stored yet."`
	NormalLoad *int             `json:"normal_load" doc:"Normal number of these; at twice that the node is overloaded. Null: no limit."`
	Refused    map[string]int64 `json:"refused" doc:"Tasks refused since the start of the node, by reason."`
}

// QueueDispatch is the path of steps to workers.
type QueueDispatch struct {
	Mode       string `json:"mode" enum:"native,redis" doc:"The current dispatcher; native is the database."`
	Configured bool   `json:"configured" doc:"Whether a dispatcher other than the database is configured."`
	Active     bool   `json:"active" doc:"Whether it currently dispatches."`
	Why        string `json:"why,omitempty" doc:"Reason why it does not dispatch."`
}

// HeldTask is a task's namespace and state, and a worker's leases on its steps.
type HeldTask struct {
	Namespace string
	State     tasker.TaskState
	Leases    []protocol.LeaseRef
}
