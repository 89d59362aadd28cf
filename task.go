package tasker

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// TaskRequest asks for one run of a template, or of a single handler; see NewTask and NewHandlerTask. Exactly one of
// Name and TaskType is set. With TaskType the task has one step, named after the type; any worker with the handler of
// that name runs it.
type TaskRequest struct {
	Name      string `json:"name,omitempty" doc:"Template to run. Either this or task_type." maxLength:"255"`
	TaskType  string `json:"task_type,omitempty" doc:"Handler to run as a task with one step. Either this or name." maxLength:"255"`
	Namespace string `json:"namespace,omitempty" doc:"Namespace of the template or handler. Defaults to \"default\"." maxLength:"255"`
	Version   string `json:"version,omitempty" doc:"Version of the template. Defaults to the last registered one." maxLength:"64"`

	Context json.RawMessage `json:"context,omitempty" doc:"Input of the task, any JSON value; validated against the input_schema of the template. Limited to 256 KiB by default."`

	Priority             Priority   `json:"priority,omitempty" doc:"high, medium, low, or an integer level from 0 to 100, higher first. Defaults to the priority of the template, else medium."`
	RequiredCapabilities []string   `json:"required_capabilities,omitempty" doc:"Capabilities that a worker must have; only with task_type." maxItems:"32"`
	TimeoutSeconds       int        `json:"timeout_seconds,omitempty" doc:"Time limit of one attempt; only with task_type. The default depends on the priority." minimum:"0" maximum:"2592000"`
	MaxRetries           *int       `json:"max_retries,omitempty" doc:"Retries after the first attempt; only with task_type. The default depends on the priority." minimum:"0" maximum:"1000"`
	RunAt                *time.Time `json:"run_at,omitempty" doc:"Earliest start."`
	// DeadlineAt applies beside the template's max_duration_minutes; the earlier one counts.
	DeadlineAt *time.Time `json:"deadline_at,omitempty" doc:"Time by which the task must be over. If it is not, it is put in error."`

	IdempotencyKey string `json:"idempotency_key,omitempty" doc:"Unique per namespace for 24 hours. A second submission returns the first task." maxLength:"255"`

	// OrderingKey is for work that must not overtake other work, such as the changes of one customer. A task in error
	// keeps its turn until an operator repairs or cancels it.
	OrderingKey string `json:"ordering_key,omitempty" doc:"Tasks of a namespace with the same key run one at a time, in the order of submission." maxLength:"255"`

	Unique *Unique `json:"unique,omitempty" doc:"Rule by which another task with the same fields stands for this one. Defaults to that of the template."`

	Tags                []string `json:"tags,omitempty" doc:"Tags of the task." maxItems:"32"`
	CorrelationID       string   `json:"correlation_id,omitempty" maxLength:"255"`
	ParentCorrelationID string   `json:"parent_correlation_id,omitempty" maxLength:"255"`
	Initiator           string   `json:"initiator,omitempty" doc:"Person or system that requests the task." maxLength:"255"`
	SourceSystem        string   `json:"source_system,omitempty" maxLength:"255"`
	Reason              string   `json:"reason,omitempty" doc:"Reason for the task." maxLength:"1024"`
	TraceParent         string   `json:"traceparent,omitempty" doc:"W3C trace context of the task. Attempts are spans of that trace, and workers receive it. Defaults to the traceparent header of the request." maxLength:"255"`

	// Err is why NewTask could not encode the input. A Client refuses the request with it.
	Err error `json:"-"`
}

// SubmitRequest submits many tasks in one transaction.
//
// An invalid task refuses the whole request. With ItemErrors its receipt carries the error, and the other tasks are
// stored.
type SubmitRequest struct {
	Tasks      []TaskRequest `json:"tasks" doc:"At most 1,000 by default." minItems:"1"`
	ItemErrors bool          `json:"item_errors,omitempty" doc:"Refuse invalid tasks individually instead of the whole request."`
	// Caller is the name of the request's API key. The server sets it.
	Caller string `json:"-"`
}

// TaskReceipt is the outcome for one submitted or cancelled task. On an error TaskUUID may be zero.
type TaskReceipt struct {
	TaskUUID uuid.UUID    `json:"task_uuid"`
	State    TaskState    `json:"state,omitempty"`
	Created  bool         `json:"created" doc:"False if the idempotency key or the unique key named an existing task."`
	Unique   *UniqueMatch `json:"unique,omitempty" doc:"What another task with the same unique key did to the submission."`
	Error    *Error       `json:"error,omitempty"`
}

// TaskState is the state of a task.
type TaskState string

// The states of tasks. Complete, cancelled and resolved_manually are terminal. The repair of a step re-opens a task
// in error.
const (
	TaskPending                TaskState = "pending"
	TaskInitializing           TaskState = "initializing"
	TaskEnqueuingSteps         TaskState = "enqueuing_steps"
	TaskStepsInProcess         TaskState = "steps_in_process"
	TaskEvaluatingResults      TaskState = "evaluating_results"
	TaskWaitingForDependencies TaskState = "waiting_for_dependencies"
	TaskWaitingForRetry        TaskState = "waiting_for_retry"
	TaskBlockedByFailures      TaskState = "blocked_by_failures"
	TaskComplete               TaskState = "complete"
	TaskError                  TaskState = "error"
	TaskCancelled              TaskState = "cancelled"
	TaskResolvedManually       TaskState = "resolved_manually"
)

// Settled reports whether the task is terminal, or in error and waits for an operator.
func (s TaskState) Settled() bool {
	switch s {
	case TaskComplete, TaskError, TaskCancelled, TaskResolvedManually:
		return true
	}
	return false
}

// Task is the state of one task. Counts of steps add up to TotalSteps. Lists omit Context unless
// TaskFilter.WithContext is set.
type Task struct {
	TaskUUID  uuid.UUID `json:"task_uuid"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name" doc:"Name of the task: the template or the task type."`
	Version   string    `json:"version,omitempty" doc:"Version of the template; empty for a task without a template."`
	State     TaskState `json:"state"`

	Priority          Priority        `json:"priority" doc:"Name of the level, or its number if it has none."`
	PriorityLevel     int             `json:"priority_level"`
	EffectivePriority Priority        `json:"effective_priority,omitempty" doc:"Highest effective level of its waiting steps; else its own level. Not in lists."`
	Context           json.RawMessage `json:"context,omitempty"`

	CreatedAt  time.Time  `json:"created_at"`
	RunAt      *time.Time `json:"run_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	DeadlineAt *time.Time `json:"deadline_at,omitempty" doc:"Deadline of the whole task: that of its submission, or the end of lifecycle.max_duration_minutes."`

	TotalSteps           int     `json:"total_steps"`
	PendingSteps         int     `json:"pending_steps"`
	InProgressSteps      int     `json:"in_progress_steps" doc:"Steps that are enqueued, assigned or in progress."`
	WaitingSteps         int     `json:"waiting_steps" doc:"Steps that wait for a retry or run_at."`
	CompletedSteps       int     `json:"completed_steps" doc:"Steps that are complete or resolved manually."`
	FailedSteps          int     `json:"failed_steps"`
	CancelledSteps       int     `json:"cancelled_steps"`
	CompletionPercentage float64 `json:"completion_percentage"`

	Tags                []string    `json:"tags,omitempty"`
	CorrelationID       string      `json:"correlation_id,omitempty"`
	ParentCorrelationID string      `json:"parent_correlation_id,omitempty"`
	IdempotencyKey      string      `json:"idempotency_key,omitempty"`
	Unique              *TaskUnique `json:"unique,omitempty" doc:"Its rule of uniqueness."`
	OrderingKey         string      `json:"ordering_key,omitempty"`
	WaitsForTurn        bool        `json:"waits_for_turn,omitempty" doc:"An earlier task with the same ordering key has not ended yet."`
	Initiator           string      `json:"initiator,omitempty"`
	SourceSystem        string      `json:"source_system,omitempty"`
	Reason              string      `json:"reason,omitempty"`
	CancelReason        string      `json:"cancel_reason,omitempty"`
	CancelledBy         string      `json:"cancelled_by,omitempty"`
	CancelledByKey      string      `json:"cancelled_by_key,omitempty" doc:"Name of the API key that cancelled it."`
	TraceParent         string      `json:"traceparent,omitempty" doc:"W3C trace context of the submission."`

	Intake   *TaskIntake   `json:"intake,omitempty" doc:"Message of a broker that the task was made of."`
	Schedule *TaskSchedule `json:"schedule,omitempty" doc:"Firing of a schedule that submitted the task."`

	Parent *TaskParent `json:"parent,omitempty" doc:"Step of another task that this task carries out, as its child."`

	ContextVersion     int        `json:"context_version,omitempty" doc:"Number of edits of the context since submission."`
	ContextEditedAt    *time.Time `json:"context_edited_at,omitempty"`
	ContextEditedBy    string     `json:"context_edited_by,omitempty"`
	ContextEditedByKey string     `json:"context_edited_by_key,omitempty"`

	ReplayCount       int        `json:"replay_count,omitempty" doc:"Number of replays after a failure."`
	LastReplayedAt    *time.Time `json:"last_replayed_at,omitempty"`
	LastReplayedBy    string     `json:"last_replayed_by,omitempty"`
	Damage            string     `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`
	LastReplayedByKey string     `json:"last_replayed_by_key,omitempty"`

	ETag string `json:"etag,omitempty" doc:"Changes with the state and progress of the task. An act with If-Match is refused if it has changed."`
}

// TaskParent is the step that a child task carries out.
type TaskParent struct {
	TaskUUID uuid.UUID `json:"task_uuid"`
	StepUUID uuid.UUID `json:"step_uuid"`
	Index    int       `json:"index" doc:"Place among the children of the step, counted from 0."`
}

// TaskIntake is the message that a task was made of, by a source of the task's namespace.
type TaskIntake struct {
	Source   string     `json:"source"`
	Queue    string     `json:"queue"`
	Position string     `json:"position,omitempty" doc:"Of the message in its queue."`
	SentAt   *time.Time `json:"sent_at,omitempty"`
}

// TaskSchedule is the firing that submitted a task, of a schedule of the task's namespace.
type TaskSchedule struct {
	Name string    `json:"name"`
	Time time.Time `json:"time" doc:"Time of the firing."`
	Kind string    `json:"kind" doc:"Why there is a firing: time, missed, run or backfill."`
}

// TaskFilter selects tasks, newest first. A zero field does not restrict.
type TaskFilter struct {
	States        []TaskState `json:"state,omitempty" query:"state"`
	Namespace     string      `json:"namespace,omitempty" query:"namespace"`
	Name          string      `json:"name,omitempty" query:"name" doc:"Template name or task type."`
	Version       string      `json:"version,omitempty" query:"version"`
	Tag           string      `json:"tag,omitempty" query:"tag"`
	CorrelationID string      `json:"correlation_id,omitempty" query:"correlation_id"`
	Initiator     string      `json:"initiator,omitempty" query:"initiator" doc:"Person or system that requests the task."`
	Priority      Priority    `json:"priority,omitempty" query:"priority"`
	CreatedAfter  *time.Time  `json:"created_after,omitempty" query:"created_after" doc:"Inclusive."`
	CreatedBefore *time.Time  `json:"created_before,omitempty" query:"created_before" doc:"Exclusive."`
	Limit         int         `json:"limit,omitempty" query:"limit" doc:"Page size, 1 to 1000. Defaults to 50."`
	Cursor        string      `json:"cursor,omitempty" query:"cursor" doc:"next_cursor of the previous page."`
	// WithContext includes the contexts of the tasks. A page then ends early at the server's limit of bytes.
	WithContext bool `json:"with_context,omitempty"`
}

// TaskPage is one page of a list. It may hold fewer tasks than the limit, even none, before the last page, because
// the server searches a bounded number of tasks and bytes per page. Only an empty NextCursor marks the end.
type TaskPage struct {
	Tasks      []Task `json:"tasks"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// Transition is one recorded change of state, of a task or of one of its steps.
type Transition struct {
	At       time.Time  `json:"at"`
	StepUUID *uuid.UUID `json:"step_uuid,omitempty" doc:"Absent for a transition of the task itself."`
	StepName string     `json:"step_name,omitempty"`
	From     string     `json:"from_state,omitempty"`
	To       string     `json:"to_state"`
	Attempt  int        `json:"attempt,omitempty"`
	Worker   string     `json:"worker,omitempty"`
	Actor    string     `json:"actor,omitempty" doc:"Actor, for an act of an operator."`
	KeyName  string     `json:"key_name,omitempty" doc:"Name of the operator's API key."`
	Reason   string     `json:"reason,omitempty"`
}

// TaskHistory is the history of a task, oldest first.
type TaskHistory struct {
	TaskUUID     uuid.UUID     `json:"task_uuid"`
	Transitions  []Transition  `json:"transitions"`
	Attempts     []Attempt     `json:"attempts"`
	ContextEdits []ContextEdit `json:"context_edits,omitempty"`
}

// CancelRequest cancels tasks: unsettled steps become cancelled, and their workers learn it with their next
// heartbeat. For a terminal task the receipt carries CodeWrongState, so cancelling twice is harmless.
type CancelRequest struct {
	TaskUUIDs     []uuid.UUID `json:"task_uuids" minItems:"1"`
	CancelledBy   string      `json:"cancelled_by,omitempty" doc:"Actor. Defaults to the name of the API key, else to anonymous." maxLength:"255"`
	Reason        string      `json:"reason,omitempty" doc:"Reason for the act. Defaults to \"no reason given\"." maxLength:"1024"`
	ExpectedState string      `json:"expected_state,omitempty" doc:"Expected state of each task. In any other state the act is refused with conflict." enum:"pending,initializing,enqueuing_steps,steps_in_process,evaluating_results,waiting_for_dependencies,waiting_for_retry,blocked_by_failures,complete,error,cancelled,resolved_manually"`
	IfMatch       string      `json:"if_match,omitempty" doc:"Expected etag. If the etag has changed, the act is refused with conflict. Same as the header If-Match." maxLength:"1024"`
}

// Explanation explains in sentences why a task is in its state.
type Explanation struct {
	TaskUUID uuid.UUID         `json:"task_uuid"`
	State    TaskState         `json:"state"`
	Summary  string            `json:"summary" doc:"One sentence."`
	Unique   string            `json:"unique,omitempty" doc:"One sentence on the unique key of the task; empty without one."`
	Origin   string            `json:"origin,omitempty" doc:"One sentence on the message of a broker that the task was made of; empty for a task that was submitted."`
	Limits   []string          `json:"limits,omitempty" doc:"One sentence for each time limit of the task, with its reason."`
	Steps    []StepExplanation `json:"steps,omitempty" doc:"One entry per step that is unsettled or failed."`
}

// StepExplanation explains in sentences why a step is in its state, and what would change it.
type StepExplanation struct {
	StepUUID uuid.UUID `json:"step_uuid"`
	Name     string    `json:"name"`
	State    StepState `json:"state"`
	Why      string    `json:"why"`
	Next     string    `json:"next,omitempty" doc:"What would change the state, automatically or by an operator."`
}

// Priority is the name of a level ("high", "medium", "low", or one of the server's table, in any case) or a decimal
// level from 0 to 100; a higher level runs first. In JSON a name is a string and a level an integer or a string. ""
// means the default: that of the template, else medium.
type Priority string

// The priorities of every server.
const (
	High   Priority = "high"
	Medium Priority = "medium"
	Low    Priority = "low"
)

// Level returns the Priority of level n. The server refuses a level outside of 0 to 100.
func Level(n int) Priority { return Priority(strconv.Itoa(n)) }

// MarshalJSON encodes a level as an integer and a name as a string.
func (p Priority) MarshalJSON() ([]byte, error) {
	if n, err := strconv.Atoi(string(p)); err == nil {
		return strconv.AppendInt(nil, int64(n), 10), nil
	}
	return json.Marshal(string(p))
}

// UnmarshalJSON accepts a string or an integer.
func (p *Priority) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*p = Priority(s)
		return nil
	}
	var n int
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf("priority must be a level's name or an integer level")
	}
	*p = Level(n)
	return nil
}

// EditContextRequest changes the context of a task in error. Exactly one of Context and Merge is set. Steps that have
// ended do not run again. The template's input schema applies. The task and the audit trail keep every edit.
type EditContextRequest struct {
	Context json.RawMessage `json:"context,omitempty" doc:"The complete new context, any JSON value except null. Either this or merge."`
	Merge   json.RawMessage `json:"merge,omitempty" doc:"A JSON merge patch (RFC 7396) for the context; null removes a member. Either this or context."`

	Reason   string `json:"reason" doc:"Reason for the edit; kept with the task." minLength:"1" maxLength:"4096"`
	EditedBy string `json:"edited_by,omitempty" doc:"Actor. Required, but defaults to the name of the API key." maxLength:"255"`

	ExpectedVersion *int `json:"expected_context_version,omitempty" doc:"Expected context_version. With any other the edit is refused with conflict." minimum:"0"`

	NoRetry         bool `json:"no_retry,omitempty" doc:"Leave the task in error instead of running its failed steps again."`
	ResetRetryCount bool `json:"reset_retry_count,omitempty" doc:"Give the failed steps all their attempts again. Otherwise they have the attempts left, at least one."`
}

// EditedContext is the response to an EditContextRequest. An edit to the same context changes nothing, as Changed
// says.
type EditedContext struct {
	TaskUUID       uuid.UUID       `json:"task_uuid"`
	State          TaskState       `json:"state"`
	ContextVersion int             `json:"context_version"`
	Changed        bool            `json:"changed" doc:"False if the task already had this context; then nothing was stored."`
	Context        json.RawMessage `json:"context" doc:"The new context."`
	OldContext     json.RawMessage `json:"old_context,omitempty"`
	EndedSteps     []string        `json:"ended_steps" doc:"Steps that ended earlier. They do not run again, even if they used the old context."`
	ReplayedSteps  int             `json:"replayed_steps" doc:"Names of the steps that run again."`
}

// ContextEdit is one change of a task's context. Versions count from 1 for the first edit; version 0 is the submitted
// context.
type ContextEdit struct {
	No             int64           `json:"no" doc:"Number of the record in the audit trail."`
	At             time.Time       `json:"at"`
	Actor          string          `json:"actor"`
	Reason         string          `json:"reason"`
	ContextVersion int             `json:"context_version" doc:"Version of the resulting context."`
	OldContext     json.RawMessage `json:"old_context,omitempty" doc:"The previous context. A history contains up to 1 MiB of them, newest first; the audit trail has the others."`
	OldOmitted     bool            `json:"old_context_omitted,omitempty" doc:"The old context was omitted because the response would be too long."`
	Merge          json.RawMessage `json:"merge,omitempty" doc:"The merge patch of the edit, if it used one."`
	EndedSteps     []string        `json:"ended_steps,omitempty"`
	Replayed       bool            `json:"replayed" doc:"Whether the failed steps ran again."`
}
