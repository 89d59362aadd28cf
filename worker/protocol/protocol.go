package protocol

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// AllNamespaces as the only namespace selects all that the worker's key reaches.
const AllNamespaces = "*"

// WorkerRegistration registers a worker process. Empty lists mean "all" for handlers and "none" for capabilities.
// Without namespaces a worker serves those of its API key if that is limited to some, and else the default namespace.
type WorkerRegistration struct {
	Name         string   `json:"name,omitempty" doc:"Name for operators. Defaults to the host; the SDK sends host and process ID." maxLength:"255"`
	Namespaces   []string `json:"namespaces,omitempty" doc:"Served namespaces. Defaults to those of the key, if it is limited, and else to default. * alone: all." maxItems:"100"`
	Handlers     []string `json:"handlers,omitempty" doc:"Served handlers. Defaults to all." maxItems:"1000"`
	Capabilities []string `json:"capabilities,omitempty" doc:"Capabilities of the worker." maxItems:"100"`
	Capacity     int      `json:"capacity,omitempty" doc:"Maximum number of concurrent steps. Defaults to no limit." minimum:"0" maximum:"10000"`
	Host         string   `json:"host,omitempty" maxLength:"255"`
	Version      string   `json:"version,omitempty" maxLength:"255"`
	HealthURL    string   `json:"health_url,omitempty" doc:"URL of the health endpoint, without /health: http or https, without user, query and fragment. GET <health_url>/health returns 200 if the worker is healthy." maxLength:"1024"`
	// TransportHTTP, also if empty, or TransportAMQP.
	Transport string `json:"transport,omitempty" enum:"http,amqp" doc:"http: the worker polls. amqp: the server sends steps to a queue of the worker in RabbitMQ; it may poll too. Defaults to http."`
}

// The transports of a worker. Every worker starts and settles its steps over HTTP.
const (
	TransportHTTP = "http"
	TransportAMQP = "amqp"
)

// RegisteredWorker is the response to a WorkerRegistration, with the intervals and limits to keep.
type RegisteredWorker struct {
	WorkerID              uuid.UUID `json:"worker_id"`
	PollIntervalMS        int       `json:"poll_interval_ms" doc:"Pause between polls without wait_ms."`
	PollIntervalSeconds   float64   `json:"poll_interval_seconds" doc:"Same as poll_interval_ms, in seconds."`
	HeartbeatIntervalMS   int       `json:"heartbeat_interval_ms"`
	LeaseSeconds          int       `json:"lease_seconds" doc:"A started step is lost without a heartbeat for this long."`
	StartTimeoutSeconds   int       `json:"start_timeout_seconds" doc:"Time within which an assigned step must be started."`
	MaxLongPollSeconds    int       `json:"max_long_poll_seconds"`
	MaxResultPayloadBytes int       `json:"max_payload_bytes"`
	MaxLargeResultBytes   int       `json:"max_large_result_bytes,omitempty" doc:"Maximum size of a result that is sent apart before the step is settled; absent if the server keeps none above max_payload_bytes."`
	MaxLogBytes           int       `json:"max_log_bytes" doc:"How much of the end of an attempt's log the server keeps; 0: nothing."`
	Namespaces            []string  `json:"namespaces,omitempty" doc:"Namespaces that it serves; * is all."`
	DefaultTimeoutSeconds int       `json:"default_timeout_seconds,omitempty" doc:"Timeout of a step where neither its template nor its submission names one, nor a priority."`
	Queue                 string    `json:"queue,omitempty" doc:"Queue in RabbitMQ from which a worker with the transport amqp consumes its steps."`
}

// WorkerInfo is the state of a worker for the server: CurrentLoad counts leases, ReportedLoad is the worker's count;
// they differ while messages are on their way.
type WorkerInfo struct {
	WorkerID      uuid.UUID `json:"worker_id"`
	Name          string    `json:"name"`
	State         string    `json:"status" doc:"active, draining, unhealthy, dead."`
	Namespaces    []string  `json:"namespaces,omitempty"`
	Handlers      []string  `json:"handlers,omitempty"`
	Capabilities  []string  `json:"capabilities,omitempty"`
	Capacity      int       `json:"capacity" doc:"Registered maximum number of concurrent steps; 0: no limit."`
	CurrentLoad   int       `json:"current_load" doc:"Steps that it holds, as counted by the server."`
	ReportedLoad  int       `json:"reported_load" doc:"Number of steps in its last heartbeat."`
	Host          string    `json:"host,omitempty"`
	Version       string    `json:"version,omitempty"`
	StartedAt     time.Time `json:"started_at"`
	LastHeartbeat time.Time `json:"last_heartbeat"`
	// HealthURL is the address of the worker's health report, HealthFailures the number of failed probes since the
	// last successful one, and HealthError the reason of the last failure.
	HealthURL           string     `json:"health_url,omitempty"`
	HealthFailures      int        `json:"health_failures,omitempty" doc:"Failed probes since the last success."`
	HealthError         string     `json:"health_error,omitempty" doc:"Error of the last failed probe."`
	Health              string     `json:"health" doc:"healthy, degraded or unhealthy, by its heartbeats and its attempts of the last five minutes that ended on the answering node. Of workers with the transport amqp, healthy ones get steps before degraded ones; unhealthy ones get none."`
	HealthReasons       []string   `json:"health_reasons,omitempty" doc:"Why it is not healthy."`
	Breaker             string     `json:"circuit_breaker" doc:"closed; open: its last attempts all failed and it gets no steps; half_open: it gets a few attempts as a test."`
	BreakerOpenedAt     *time.Time `json:"circuit_breaker_opened_at,omitempty"`
	ConsecutiveFailures *int       `json:"consecutive_failures" doc:"Consecutive failures that its circuit breaker counts; opening resets the count. Each node has its own count; null if this node has none."`
	CurrentTasks        *int       `json:"current_tasks,omitempty" doc:"Same as current_load. Not in lists."`
	Transport           string     `json:"transport" doc:"How it gets its steps: http: it polls; amqp: from its queue in RabbitMQ."`
	Cordoned            bool       `json:"cordoned" doc:"An operator has cordoned it: it gets no more steps until it is uncordoned."`
	CordonedAt          *time.Time `json:"cordoned_at,omitempty"`
	CordonedBy          string     `json:"cordoned_by,omitempty"`
	CordonReason        string     `json:"cordon_reason,omitempty"`
	DrainsItself        bool       `json:"drains_itself,omitempty" doc:"It drains because its heartbeat said so; the first one that does not ends that."`
	DrainedAt           *time.Time `json:"drained_at,omitempty"`
	DrainedBy           string     `json:"drained_by,omitempty" doc:"Operator who has drained it; it gets no more steps until it is resumed."`
	DrainReason         string     `json:"drain_reason,omitempty"`
	Damage              string     `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`
}

// The states in a WorkerInfo.
const (
	// An unhealthy worker gets no steps until a probe succeeds. A dead one sent no heartbeat for too long; its steps
	// run elsewhere.
	WorkerActive    = "active"
	WorkerDraining  = "draining"
	WorkerUnhealthy = "unhealthy"
	WorkerDead      = "dead"

	// In the half-open state the worker gets a few steps, whose outcome closes or opens the breaker.
	BreakerClosed   = "closed"
	BreakerOpen     = "open"
	BreakerHalfOpen = "half_open"
)

// PollRequest asks for steps.
type PollRequest struct {
	WorkerID uuid.UUID `json:"-"`
	Capacity int       `json:"capacity,omitempty" doc:"Maximum number of steps. Defaults to 1." minimum:"0" maximum:"10000"`
	WaitMS   int       `json:"wait_ms,omitempty" doc:"Maximum wait for steps (long poll). The server limits it." minimum:"0"`
	Start    bool      `json:"start,omitempty" doc:"Claim and start in one call: steps come back in_progress and need no start call."`
}

// PollResponse carries steps, lowest sort key first. It is empty if nothing was ready within the wait, and for a
// worker that must drain, is unhealthy, or has an open breaker.
type PollResponse struct {
	Steps       []Assignment `json:"steps"`
	ShouldDrain bool         `json:"should_drain,omitempty" doc:"Finish the current work; no more will be assigned."`
	BreakerNote
}

// BreakerNote is the state of the worker's circuit breaker, empty while it is closed.
type BreakerNote struct {
	Breaker      string     `json:"circuit_breaker,omitempty" enum:"open,half_open" doc:"open: the last attempts of the worker all failed, and it gets no steps. half_open: it gets a few attempts as a test."`
	BreakerUntil *time.Time `json:"circuit_breaker_until,omitempty" doc:"End of this state if nothing else happens."`
}

// Assignment is one step that a worker holds. TimeoutSeconds 0 means no timeout. Times are on the server's clock, so
// measure durations from the arrival of the response.
type Assignment struct {
	StepUUID       uuid.UUID                     `json:"step_uuid"`
	TaskUUID       uuid.UUID                     `json:"task_uuid"`
	Token          string                        `json:"token" doc:"Opaque fencing token of the lease. Send it back with start, progress, heartbeat and result. Valid for this worker only."`
	State          tasker.StepState              `json:"state"`
	Namespace      string                        `json:"namespace"`
	TaskName       string                        `json:"task_name"`
	Version        string                        `json:"version,omitempty"`
	StepName       string                        `json:"step_name"`
	Handler        string                        `json:"handler"`
	Attempt        int                           `json:"attempt" doc:"Counted from 1; for an assigned step, the attempt that start will begin."`
	MaxAttempts    int                           `json:"max_attempts"`
	Priority       int                           `json:"priority_level"`
	Parameters     json.RawMessage               `json:"parameters,omitempty" doc:"The task's context."`
	ParentResults  map[string]json.RawMessage    `json:"parent_results,omitempty" doc:"Results of the direct dependencies, by step name."`
	LargeResults   map[string]tasker.LargeResult `json:"large_results,omitempty" doc:"Those of them that are kept apart, by step name: read them one by one. They are not in parent_results."`
	Checkpoint     json.RawMessage               `json:"checkpoint,omitempty" doc:"The last checkpoint that an earlier attempt of the step has stored."`
	Initialization map[string]any                `json:"initialization,omitempty"`
	CorrelationID  string                        `json:"correlation_id,omitempty"`
	TraceParent    string                        `json:"traceparent,omitempty" doc:"W3C trace context of the step, if the task was submitted with one."`
	TimeoutSeconds int                           `json:"timeout_seconds"`
	LeaseExpiresAt time.Time                     `json:"lease_expires_at"`
	DeadlineAt     *time.Time                    `json:"deadline_at,omitempty" doc:"When the attempt times out, once started."`
}

// LeaseRef names a lease by its step and its fencing token, which is valid only for the worker that received it.
type LeaseRef struct {
	StepUUID uuid.UUID `json:"step_uuid"`
	Token    string    `json:"token" maxLength:"255" doc:"Token of the step's lease."`
}

// LeaseAnswer is the state of one lease after a start, a progress report or a heartbeat.
type LeaseAnswer struct {
	StepUUID       uuid.UUID     `json:"step_uuid"`
	Status         string        `json:"status" enum:"held,cancelled,lost" doc:"held: continue. cancelled: the task was cancelled, stop. lost: the step is settled or another worker has it, stop and do not report."`
	LeaseExpiresAt *time.Time    `json:"lease_expires_at,omitempty"`
	DeadlineAt     *time.Time    `json:"deadline_at,omitempty"`
	Error          *tasker.Error `json:"error,omitempty"`
}

// The states of a LeaseAnswer.
const (
	// For a cancelled or lost lease, the worker stops the handler and reports nothing.
	LeaseHeld      = "held"
	LeaseCancelled = "cancelled"
	LeaseLost      = "lost"
)

// StartRequest begins the execution of assigned steps.
type StartRequest struct {
	WorkerID uuid.UUID  `json:"-"`
	Steps    []LeaseRef `json:"steps" minItems:"1"`
}

// ProgressReport has the progress of a step, its checkpoint, or both, and renews its lease.
type ProgressReport struct {
	WorkerID        uuid.UUID       `json:"-"`
	StepUUID        uuid.UUID       `json:"step_uuid"`
	Token           string          `json:"token" maxLength:"255" doc:"Token of the step's lease."`
	ProgressPercent int             `json:"progress_percent,omitempty" minimum:"0" maximum:"100" doc:"Defaults to 0; with a checkpoint and without a status_message, 0 leaves the progress as it is."`
	StatusMessage   string          `json:"status_message,omitempty" maxLength:"1024"`
	Checkpoint      json.RawMessage `json:"checkpoint,omitempty" doc:"Any JSON value. It replaces the last checkpoint of the step, and the next attempt receives it; null deletes the last one. Left out, it changes nothing."`
}

// StepResult settles one step. Result or LargeResult belongs to ResultCompleted, Error to ResultFailed, SnoozeSeconds
// to ResultSnoozed; other combinations are refused.
type StepResult struct {
	StepUUID      uuid.UUID       `json:"step_uuid"`
	Token         string          `json:"token" maxLength:"255" doc:"Token of the step's lease."`
	Status        string          `json:"status" enum:"completed,failed,released,snoozed" doc:"released: returned to the queue, no attempt charged. snoozed: ready again after snooze_seconds, no attempt charged."`
	Result        json.RawMessage `json:"result,omitempty"`
	LargeResult   string          `json:"large_result,omitempty" maxLength:"200" doc:"Instead of result: the reference of a large result that was sent before."`
	Error         *tasker.Failure `json:"error,omitempty" doc:"Required by failed."`
	SnoozeSeconds float64         `json:"snooze_seconds,omitempty" minimum:"0" maximum:"2592000"`
	Log           string          `json:"log,omitempty" doc:"End of what the attempt has logged. The server keeps at most max_log_bytes of its end."`
	LogBytes      int64           `json:"log_bytes,omitempty" minimum:"0" doc:"Size of all that the attempt has logged. Defaults to the size of log."`
}

// The outcomes of a StepResult.
const (
	// A released step is ready immediately, a snoozed one after SnoozeSeconds. Neither counts as an attempt.
	ResultCompleted = "completed"
	ResultFailed    = "failed"
	ResultReleased  = "released"
	ResultSnoozed   = "snoozed"
)

// SettleRequest settles many steps in one transaction, each with a separate answer. A refused result does not affect
// the others.
type SettleRequest struct {
	WorkerID uuid.UUID    `json:"-"`
	Results  []StepResult `json:"results" minItems:"1"`
}

// SettleAnswer is the answer to one result. A result under an old token gets CodeStaleToken and changes nothing.
// State is the step's state afterwards; NextRetryAt is set if it waits for a retry.
type SettleAnswer struct {
	StepUUID    uuid.UUID        `json:"step_uuid"`
	State       tasker.StepState `json:"state,omitempty"`
	NextRetryAt *time.Time       `json:"next_retry_at,omitempty"`
	Error       *tasker.Error    `json:"error,omitempty"`
}

// Heartbeat is a worker's sign of life and renews the leases that it names. Without one for the configured time, the
// worker is dead and its steps run again.
type Heartbeat struct {
	WorkerID    uuid.UUID          `json:"-"`
	CurrentLoad int                `json:"current_load,omitempty"`
	Status      string             `json:"status,omitempty" doc:"active or draining."`
	Health      map[string]float64 `json:"health,omitempty"`
	Steps       []LeaseRef         `json:"steps,omitzero" doc:"Leases to renew. If absent, all leases of the worker are renewed; an empty list renews none, so that lost leases expire."`
}

// HeartbeatResponse is the response to a heartbeat.
type HeartbeatResponse struct {
	Acknowledged bool          `json:"acknowledged"`
	ShouldDrain  bool          `json:"should_drain"`
	Leases       []LeaseAnswer `json:"leases,omitempty"`
	BreakerNote
}

// WorkerAct is an operator's act on a worker, or a worker's drain. The audit trail records it, except a worker's end:
// Final without By.
type WorkerAct struct {
	WorkerID uuid.UUID
	By       string // the actor; a server puts the name of the API key instead of ""
	Reason   string
	// Final is for Drain: the worker deregisters and returns the steps that it still holds, with no attempt charged.
	Final bool
}

// DrainResponse counts the returned steps.
type DrainResponse struct {
	Released int `json:"released"`
}
