package taskworker

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/worker/protocol"
)

// QueueWorker registers a worker. It is a protocol.WorkerRegistration in other words: task types are its handlers.
type QueueWorker struct {
	Name         string   `json:"name,omitempty" doc:"Name for operators. Defaults to the host." maxLength:"255"`
	Namespaces   []string `json:"namespaces,omitempty" doc:"Served namespaces. Defaults to those of the key, if it is limited, and else to default. * alone: all." maxItems:"100"`
	TaskTypes    []string `json:"task_types,omitempty" doc:"Served task types. Defaults to all." maxItems:"1000"`
	Capabilities []string `json:"capabilities,omitempty" doc:"Capabilities of the worker." maxItems:"100"`
	Capacity     int      `json:"capacity,omitempty" doc:"Maximum number of concurrent tasks. Defaults to no limit." minimum:"0" maximum:"10000"`
	Host         string   `json:"host,omitempty" maxLength:"255"`
	Version      string   `json:"version,omitempty" maxLength:"255"`
	HealthURL    string   `json:"health_url,omitempty" doc:"URL of the health endpoint, without /health. GET <health_url>/health returns 200 if the worker is healthy." maxLength:"1024"`
}

// QueueRegistered has the interval between polls in milliseconds and in seconds, for clients of either kind.
type QueueRegistered struct {
	WorkerID             uuid.UUID `json:"worker_id"`
	PollIntervalMS       int       `json:"poll_interval_ms" doc:"Pause between polls without wait_ms."`
	PollIntervalSeconds  float64   `json:"poll_interval_seconds" doc:"Same as poll_interval_ms, in seconds."`
	HeartbeatIntervalMS  int       `json:"heartbeat_interval_ms"`
	VisibilityTimeoutSec int       `json:"visibility_timeout_seconds" doc:"A started task is lost without a heartbeat for this long."`
	StartTimeoutSeconds  int       `json:"start_timeout_seconds" doc:"Time within which an assigned task must be started."`
	MaxPayloadBytes      int       `json:"max_payload_bytes" doc:"Maximum size of a result."`
}

// QueuePoll requests tasks. Two fields have two names each; one suffices.
type QueuePoll struct {
	AvailableCapacity  *int     `json:"available_capacity,omitempty" doc:"Maximum number of tasks. Defaults to 1; 0 returns none." minimum:"0" maximum:"10000"`
	Capacity           *int     `json:"capacity,omitempty" doc:"Another name of available_capacity, which takes precedence." minimum:"0" maximum:"10000"`
	Capabilities       []string `json:"capabilities,omitempty" doc:"The registered capabilities, or absent; others are refused." maxItems:"100"`
	WorkerCapabilities []string `json:"worker_capabilities,omitempty" doc:"Another name of capabilities." maxItems:"100"`
	WaitMS             int      `json:"wait_ms,omitempty" doc:"Maximum wait for tasks (long poll), at most 60000." minimum:"0"`
	Start              bool     `json:"start,omitempty" doc:"Return tasks already started; they need no start call."`
}

func (p *QueuePoll) capacity() int {
	if n := cmp.Or(p.AvailableCapacity, p.Capacity); n != nil {
		return *n
	}
	return 1
}

func (p *QueuePoll) capabilities() []string {
	return append(append([]string(nil), p.Capabilities...), p.WorkerCapabilities...)
}

// QueuePolled contains tasks, most urgent first.
type QueuePolled struct {
	Tasks       []QueueAssignment `json:"tasks"`
	ShouldDrain bool              `json:"should_drain" doc:"Finish the current work; no more will be assigned."`
	protocol.BreakerNote
}

// QueueAssignment is a task leased to a worker. Token proves the lease; without it in later calls, the worker's ID
// suffices as long as it holds one lease on the task.
type QueueAssignment struct {
	TaskID                 uuid.UUID                     `json:"task_id"`
	StepUUID               uuid.UUID                     `json:"step_uuid" doc:"Name of the step; tasks of this API have only one."`
	Token                  string                        `json:"token" doc:"Token of the lease. Send it back, so that a report for a lost attempt does not apply to a later one."`
	TaskType               string                        `json:"task_type"`
	Namespace              string                        `json:"namespace"`
	Parameters             json.RawMessage               `json:"parameters,omitempty"`
	ParentResults          map[string]json.RawMessage    `json:"parent_results,omitempty" doc:"Results of the direct dependencies, by step name."`
	LargeResults           map[string]tasker.LargeResult `json:"large_results,omitempty" doc:"Those of them that are kept apart, by step name; see /internal/workers."`
	Status                 queueapi.QueueStatus          `json:"status" doc:"assigned or executing."`
	Attempt                int                           `json:"attempt" doc:"Counted from 1."`
	MaxAttempts            int                           `json:"max_attempts"`
	PriorityLevel          int                           `json:"priority_level"`
	TimeoutSeconds         int                           `json:"timeout_seconds"`
	VisibilityTimeoutUntil time.Time                     `json:"visibility_timeout_until" doc:"End of the lease, unless the task is started or renewed."`
	DeadlineAt             *time.Time                    `json:"deadline_at,omitempty" doc:"When the attempt times out, once started."`
	TraceID                string                        `json:"trace_id,omitempty"`
	TraceParent            string                        `json:"traceparent,omitempty" doc:"W3C trace context of the task."`
	CorrelationID          string                        `json:"correlation_id,omitempty"`
}

// QueueLeaseRef names a task that a worker holds. Step and token are optional as long as they are unambiguous. Exported
// because encoding/json and the schemas ignore unexported embedded structs.
type QueueLeaseRef struct {
	TaskID   uuid.UUID  `json:"task_id"`
	StepUUID *uuid.UUID `json:"step_uuid,omitempty" doc:"Only required if the worker holds several steps of the task."`
	Token    string     `json:"token,omitempty" maxLength:"255" doc:"Token of the task. Defaults to the lease that the worker holds now."`
}

// QueueStart begins a task.
type QueueStart struct {
	QueueLeaseRef
}

// QueueProgress reports the progress of a task.
type QueueProgress struct {
	QueueLeaseRef
	ProgressPercent int    `json:"progress_percent" minimum:"0" maximum:"100"`
	StatusMessage   string `json:"status_message,omitempty" maxLength:"1024"`
}

// QueueLease is the state of a lease after start, progress or heartbeat. Status is the reason of a lost lease.
type QueueLease struct {
	TaskID                 uuid.UUID  `json:"task_id"`
	Acknowledged           bool       `json:"acknowledged" doc:"Continue; the status is held."`
	Status                 string     `json:"status" enum:"held,cancelled,lost" doc:"cancelled: the task was cancelled, stop. lost: the task has ended or another worker has it, stop and do not report."`
	VisibilityTimeoutUntil *time.Time `json:"visibility_timeout_until,omitempty"`
	DeadlineAt             *time.Time `json:"deadline_at,omitempty"`
}

// QueueResult ends a task, or one of its attempts.
type QueueResult struct {
	QueueLeaseRef
	Status                   string          `json:"status" enum:"completed,failed"`
	Result                   json.RawMessage `json:"result,omitempty"`
	Error                    *queueFailure   `json:"error,omitempty" doc:"Required by failed."`
	ExecutionDurationSeconds float64         `json:"execution_duration_seconds,omitempty" doc:"Accepted and not stored; the server measures the duration." minimum:"0"`
}

// queueFailure is the failure of an attempt: an object, or only its message.
type queueFailure struct {
	FailureOfQueue
}

// FailureOfQueue is the object form of a failure.
type FailureOfQueue struct {
	Message           string              `json:"message" doc:"Truncated to 8 KiB."`
	Code              string              `json:"code,omitempty" doc:"The application's own code." maxLength:"255"`
	Type              string              `json:"error_type,omitempty" doc:"Class of the error." maxLength:"255"`
	FailureReason     string              `json:"failure_reason,omitempty" doc:"Another name of error_type." maxLength:"255"`
	Class             tasker.FailureClass `json:"class,omitempty" enum:"transient,resource,logic,worker"`
	Retryable         *bool               `json:"retryable,omitempty" doc:"False fails the task permanently. Defaults to true."`
	Retriable         *bool               `json:"retriable,omitempty" doc:"Another spelling of retryable."`
	RetryAfterSeconds float64             `json:"retry_after_seconds,omitempty" minimum:"0"`
	Details           json.RawMessage     `json:"details,omitempty"`
}

func (queueFailure) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeString}, endpoint.SchemaOf[FailureOfQueue](r)}}
}

func (f *queueFailure) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &f.Message)
	}
	return json.Unmarshal(b, &f.FailureOfQueue)
}

// failure converts a failure; nil for none. Of two names the first has precedence.
func (f *queueFailure) failure() *tasker.Failure {
	if f == nil {
		return nil
	}
	return &tasker.Failure{Message: f.Message, Code: f.Code, Type: cmp.Or(f.Type, f.FailureReason), Class: f.Class,
		Retryable: cmp.Or(f.Retryable, f.Retriable), RetryAfterSeconds: f.RetryAfterSeconds, Details: f.Details}
}

// QueueSettled answers a result.
type QueueSettled struct {
	TaskID       uuid.UUID        `json:"task_id"`
	Acknowledged bool             `json:"acknowledged"`
	StepState    tasker.StepState `json:"step_state" doc:"New state of the task."`
	NextRetryAt  *time.Time       `json:"next_retry_at,omitempty"`
}

// QueueBeat is a worker's heartbeat. Nil CurrentTasks renew all leases, an empty list none.
type QueueBeat struct {
	CurrentLoad  int                `json:"current_load,omitempty" minimum:"0" maximum:"100000"`
	Status       string             `json:"status,omitempty" enum:"active,idle,busy,draining" doc:"draining requests no more tasks; the other values have no effect."`
	Health       map[string]float64 `json:"health,omitempty" doc:"memory_usage_percent, cpu_usage_percent. Accepted and not stored."`
	CurrentTasks []uuid.UUID        `json:"current_tasks,omitzero" doc:"Tasks to keep; each gets an answer. If absent, the worker keeps all its tasks, without answers. A task missing from the list is lost when its visibility timeout ends." maxItems:"100"`
}

// QueueBeaten answers a heartbeat.
type QueueBeaten struct {
	Acknowledged bool         `json:"acknowledged"`
	ShouldDrain  bool         `json:"should_drain" doc:"Finish the current work; no more will be assigned."`
	Tasks        []QueueLease `json:"tasks" doc:"In the order of current_tasks."`
	protocol.BreakerNote
}

// DocumentStatus documents queueapi.QueueStatus. Call it before an operation uses it.
func DocumentStatus(api *endpoint.API) { endpoint.StandIn[queueapi.QueueStatus, statusSchema](api) }

type statusSchema struct{}

func (statusSchema) Schema(huma.Registry) *huma.Schema {
	return endpoint.EnumSchema(queueapi.QueueQueued, queueapi.QueueAssigned, queueapi.QueueExecuting,
		queueapi.QueueCompleted, queueapi.QueueFailed, queueapi.QueueStopped, queueapi.QueueDeadLetter)
}
