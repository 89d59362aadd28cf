package httpapi

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// What workers of the queue say and hear: the worker protocol in the words of the
// queue, where a worker knows tasks and no steps. The SDK speaks the other one.

// queueWorker introduces a worker.
type queueWorker struct {
	Name         string   `json:"name,omitempty" doc:"Shown to operators. Defaults to the host." maxLength:"255"`
	Namespaces   []string `json:"namespaces,omitempty" doc:"Namespaces it serves. None means all." maxItems:"100"`
	TaskTypes    []string `json:"task_types,omitempty" doc:"Task types it serves. None means all." maxItems:"1000"`
	Capabilities []string `json:"capabilities,omitempty" doc:"What it can do." maxItems:"100"`
	Capacity     int      `json:"capacity,omitempty" doc:"Tasks it runs at once: it is given no more. Without it, there is no bound." minimum:"0" maximum:"10000"`
	Host         string   `json:"host,omitempty" maxLength:"255"`
	Version      string   `json:"version,omitempty" maxLength:"255"`
	HealthURL    string   `json:"health_url,omitempty" doc:"Where the server may ask how the worker is: GET <health_url>/health, 200 is well." maxLength:"1024"`
}

// queueRegistered answers a registration.
type queueRegistered struct {
	WorkerID             uuid.UUID `json:"worker_id"`
	PollIntervalMS       int       `json:"poll_interval_ms" doc:"How long to wait between polls that are not long."`
	PollIntervalSeconds  float64   `json:"poll_interval_seconds" doc:"The same in seconds."`
	HeartbeatIntervalMS  int       `json:"heartbeat_interval_ms"`
	VisibilityTimeoutSec int       `json:"visibility_timeout_seconds" doc:"A task that was started is lost when no heartbeat comes for this long."`
	StartTimeoutSeconds  int       `json:"start_timeout_seconds" doc:"An assigned task is lost when it is not started within this."`
	MaxPayloadBytes      int       `json:"max_payload_bytes" doc:"The largest result."`
}

// queuePoll asks for tasks. Two fields have two names each, of which one is enough.
type queuePoll struct {
	AvailableCapacity  *int     `json:"available_capacity,omitempty" doc:"At most this many tasks. Defaults to 1; 0 gets none." minimum:"0" maximum:"10000"`
	Capacity           *int     `json:"capacity,omitempty" doc:"Another name of available_capacity, which goes before." minimum:"0" maximum:"10000"`
	Capabilities       []string `json:"capabilities,omitempty" doc:"Those of the registration, or left out: others are refused." maxItems:"100"`
	WorkerCapabilities []string `json:"worker_capabilities,omitempty" doc:"Another name of capabilities." maxItems:"100"`
	WaitMS             int      `json:"wait_ms,omitempty" doc:"Long poll: wait this long for tasks, at most 60000." minimum:"0"`
	Start              bool     `json:"start,omitempty" doc:"Tasks come executing and need no start call."`
}

// capacity is how many tasks are asked for.
func (p *queuePoll) capacity() int {
	if n := cmp.Or(p.AvailableCapacity, p.Capacity); n != nil {
		return *n
	}
	return 1
}

func (p *queuePoll) capabilities() []string {
	return append(append([]string(nil), p.Capabilities...), p.WorkerCapabilities...)
}

// queuePolled carries tasks, the most urgent first.
type queuePolled struct {
	Tasks       []queueAssignment `json:"tasks"`
	ShouldDrain bool              `json:"should_drain" doc:"Finish what you have; nothing more will come."`
	tasker.BreakerNote
}

// queueAssignment is a task in the hands of a worker.
type queueAssignment struct {
	TaskID                 uuid.UUID                  `json:"task_id"`
	StepUUID               uuid.UUID                  `json:"step_uuid" doc:"What of the task is to be done: the only step of one that came through this API."`
	Token                  string                     `json:"token" doc:"Of the lease. Hand it back, so that a report of an attempt that you lost is not taken for one of the next that you got."`
	TaskType               string                     `json:"task_type"`
	Namespace              string                     `json:"namespace"`
	Parameters             json.RawMessage            `json:"parameters,omitempty"`
	ParentResults          map[string]json.RawMessage `json:"parent_results,omitempty" doc:"Results of the direct dependencies, by step name."`
	Status                 tasker.QueueStatus         `json:"status" doc:"assigned or executing."`
	Attempt                int                        `json:"attempt" doc:"Counted from 1."`
	MaxAttempts            int                        `json:"max_attempts"`
	PriorityLevel          int                        `json:"priority_level"`
	TimeoutSeconds         int                        `json:"timeout_seconds"`
	VisibilityTimeoutUntil time.Time                  `json:"visibility_timeout_until" doc:"Until when it is yours, unless it is started or renewed."`
	DeadlineAt             *time.Time                 `json:"deadline_at,omitempty" doc:"When the attempt times out, once started."`
	TraceID                string                     `json:"trace_id,omitempty"`
	TraceParent            string                     `json:"traceparent,omitempty" doc:"W3C trace context to work in."`
	CorrelationID          string                     `json:"correlation_id,omitempty"`
}

// QueueLeaseRef names a task that a worker holds. It is exported because
// encoding/json and the schemas look into embedded structs only when they are.
type QueueLeaseRef struct {
	TaskID   uuid.UUID  `json:"task_id"`
	StepUUID *uuid.UUID `json:"step_uuid,omitempty" doc:"Needed only by a worker that holds several steps of the task."`
	Token    string     `json:"token,omitempty" maxLength:"255" doc:"As it came with the task. Left out, it is that of the lease that the worker holds at present."`
}

// queueStart begins a task.
type queueStart struct {
	QueueLeaseRef
}

// queueProgress says how far a task is.
type queueProgress struct {
	QueueLeaseRef
	ProgressPercent int    `json:"progress_percent" minimum:"0" maximum:"100"`
	StatusMessage   string `json:"status_message,omitempty" maxLength:"1024"`
}

// queueLease is the state of a lease after start, progress or heartbeat.
type queueLease struct {
	TaskID                 uuid.UUID  `json:"task_id"`
	Acknowledged           bool       `json:"acknowledged" doc:"Go on: the status is held."`
	Status                 string     `json:"status" enum:"held,cancelled,lost" doc:"cancelled: the task was cancelled, stop. lost: somebody else has it or it is over, stop and do not report."`
	VisibilityTimeoutUntil *time.Time `json:"visibility_timeout_until,omitempty"`
	DeadlineAt             *time.Time `json:"deadline_at,omitempty"`
}

// queueResult ends a task, or one attempt of it.
type queueResult struct {
	QueueLeaseRef
	Status                   string          `json:"status" enum:"completed,failed"`
	Result                   json.RawMessage `json:"result,omitempty"`
	Error                    *queueFailure   `json:"error,omitempty" doc:"Required by failed."`
	ExecutionDurationSeconds float64         `json:"execution_duration_seconds,omitempty" doc:"Taken and not kept: the server measures from start to result." minimum:"0"`
}

// queueFailure is why an attempt failed: an object, or only its message.
type queueFailure struct {
	FailureOfQueue
}

// FailureOfQueue is the object.
type FailureOfQueue struct {
	Message           string              `json:"message" doc:"Kept up to 8 KiB."`
	Code              string              `json:"code,omitempty" doc:"The application's own code." maxLength:"255"`
	Type              string              `json:"error_type,omitempty" doc:"Class of the error." maxLength:"255"`
	FailureReason     string              `json:"failure_reason,omitempty" doc:"Another name of error_type." maxLength:"255"`
	Class             tasker.FailureClass `json:"class,omitempty" enum:"transient,resource,logic,worker"`
	Retryable         *bool               `json:"retryable,omitempty" doc:"False fails the task for good. Defaults to true."`
	Retriable         *bool               `json:"retriable,omitempty" doc:"Another spelling of retryable."`
	RetryAfterSeconds float64             `json:"retry_after_seconds,omitempty" minimum:"0"`
	Details           json.RawMessage     `json:"details,omitempty"`
}

// Schema documents both forms.
func (queueFailure) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeString}, schemaOf[FailureOfQueue](r)}}
}

// UnmarshalJSON accepts both forms.
func (f *queueFailure) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &f.Message)
	}
	return json.Unmarshal(b, &f.FailureOfQueue)
}

func (f *queueFailure) failure() *tasker.Failure {
	if f == nil {
		return nil
	}
	return &tasker.Failure{Message: f.Message, Code: f.Code, Type: cmp.Or(f.Type, f.FailureReason), Class: f.Class,
		Retryable: cmp.Or(f.Retryable, f.Retriable), RetryAfterSeconds: f.RetryAfterSeconds, Details: f.Details}
}

// queueSettled answers a result.
type queueSettled struct {
	TaskID       uuid.UUID        `json:"task_id"`
	Acknowledged bool             `json:"acknowledged"`
	StepState    tasker.StepState `json:"step_state" doc:"What has become of it."`
	NextRetryAt  *time.Time       `json:"next_retry_at,omitempty"`
}

// queueBeat says that a worker lives.
type queueBeat struct {
	CurrentLoad  int                `json:"current_load,omitempty" minimum:"0" maximum:"100000"`
	Status       string             `json:"status,omitempty" enum:"active,idle,busy,draining" doc:"draining asks for no more tasks; the others mean the same."`
	Health       map[string]float64 `json:"health,omitempty" doc:"memory_usage_percent, cpu_usage_percent. Taken and not kept."`
	CurrentTasks []uuid.UUID        `json:"current_tasks,omitzero" doc:"Tasks to keep; each is answered. Left out, all that the worker holds are kept, and none is answered. What is not on a list is lost once its visibility timeout has passed." maxItems:"100"`
}

// queueBeaten answers a heartbeat.
type queueBeaten struct {
	Acknowledged bool         `json:"acknowledged"`
	ShouldDrain  bool         `json:"should_drain" doc:"Finish what you have; nothing more will come."`
	Tasks        []queueLease `json:"tasks" doc:"In the order of current_tasks."`
	tasker.BreakerNote
}
