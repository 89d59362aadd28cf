package operate

import (
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// FailedTask is a task that has failed for good, with its case: the task is in error, and the case is pending. On the
// wire such tasks are the "DLQ".
type FailedTask struct {
	TaskID           uuid.UUID             `json:"task_id"`
	CaseID           uuid.UUID             `json:"case_id" doc:"ID of the case, called dlq_entry_uuid elsewhere."`
	Namespace        string                `json:"namespace"`
	TaskType         string                `json:"task_type" doc:"Name of the task: the task type or the template."`
	State            tasker.TaskState      `json:"state" doc:"Current priority."`
	Priority         tasker.Priority       `json:"priority"`
	CreatedAt        time.Time             `json:"created_at"`
	MovedToDLQAt     time.Time             `json:"moved_to_dlq_at"`
	FailureReason    tasker.CaseReason     `json:"failure_reason"`
	Cause            CaseCause             `json:"cause,omitempty" doc:"Detailed cause of the failure."`
	OccurrenceCount  int                   `json:"occurrence_count" doc:"Number of occurrences of the case."`
	LastOccurredAt   time.Time             `json:"last_occurred_at"`
	FailedStep       string                `json:"failed_step,omitempty" doc:"Name of the failed step that stops the task."`
	Fingerprint      string                `json:"error_pattern,omitempty" doc:"Fingerprint of the latest failure: its code, else its type, else its message without numbers."`
	ErrorMessage     string                `json:"error_message,omitempty" doc:"The first 1 KiB of the error message."`
	Retryable        bool                  `json:"retryable" doc:"Whether a retry may help: the failure was retryable, or the time ran out without a failure."`
	LastError        *tasker.Failure       `json:"last_error,omitempty" doc:"Time of the last failed attempt of the failed step, including replays."`
	LastFailureAt    *time.Time            `json:"last_failure_at,omitempty"`
	RetryCount       int                   `json:"retry_count" doc:"Retries of the last failed step."`
	ResolutionStatus tasker.CaseResolution `json:"resolution_status"`
	ReplayCount      int                   `json:"replay_count"`
	LastReplayedAt   *time.Time            `json:"last_replayed_at,omitempty"`
	LastReplayedBy   string                `json:"last_replayed_by,omitempty"`
	// Damage is why a damaged part of the stored row is left out; usually "".
	Damage string `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`
	// LastReplayedByKey is the name of the API key.
	LastReplayedByKey string `json:"last_replayed_by_key,omitempty"`
}

// FailedTaskFilter selects failed tasks. A zero field does not restrict.
type FailedTaskFilter struct {
	// ResolutionStatus defaults to pending: tasks now in error with an unresolved case. Another status selects tasks
	// whose case was resolved that way.
	ResolutionStatus tasker.CaseResolution `query:"resolution_status"`
	Reason           tasker.CaseReason     `query:"failure_reason"`
	Fingerprint      string                `query:"error_pattern"`
	// FailedStep is the name of the step whose failure stops the task; ErrorMessage is a part of its message.
	FailedStep   string    `query:"failed_step"`
	ErrorMessage string    `query:"error_message"`
	Retryable    *bool     `query:"retryable"`
	Namespace    string    `query:"namespace"`
	TaskType     string    `query:"task_type"`
	After        time.Time `query:"after"`  // failed at or after
	Before       time.Time `query:"before"` // failed before
	Limit        int       `query:"limit"`  // defaults to 50; at most the server's page limit
	Cursor       string    `query:"cursor"` // NextCursor of the previous page
}

// FailedTaskPage is one page of failed tasks.
type FailedTaskPage struct {
	Tasks       []FailedTask `json:"tasks"`
	TotalCount  int          `json:"total_count" doc:"Total of all pages, counted up to 10,000."`
	TotalCapped bool         `json:"total_capped,omitempty" doc:"Whether there are more."`
	NextCursor  string       `json:"next_cursor,omitempty"`
}

// ReplayRequest runs the failed steps of a failed task again. Steps that have completed do not
// run again.
type ReplayRequest struct {
	ResetRetryCount bool            `json:"reset_retry_count,omitempty" doc:"Give the failed steps all their attempts again. Otherwise they have the attempts left, at least one."`
	NewPriority     tasker.Priority `json:"new_priority,omitempty" doc:"New priority of the task and its open steps. Defaults to no change."`
	Reason          string          `json:"reason,omitempty" maxLength:"4096" doc:"Reason for the act; kept in the audit trail. Defaults to \"no reason given\"."`
	ReplayedBy      string          `json:"replayed_by,omitempty" maxLength:"255" doc:"Actor. Defaults to the name of the API key, else to anonymous."`
	// ExpectedState and IfMatch refuse the act with CodeConflict unless the task is in that state, or its etag is in
	// the list.
	ExpectedState string `json:"expected_state,omitempty" doc:"Expected state of the task. In any other state the act is refused with conflict." enum:"pending,initializing,enqueuing_steps,steps_in_process,evaluating_results,waiting_for_dependencies,waiting_for_retry,blocked_by_failures,complete,error,cancelled,resolved_manually"`
	IfMatch       string `json:"if_match,omitempty" doc:"Expected etag. If the etag has changed, the act is refused with conflict. Same as the header If-Match." maxLength:"1024"`
}

// Replay is the response to a ReplayRequest.
type Replay struct {
	TaskID        uuid.UUID        `json:"task_id"`
	CaseID        *uuid.UUID       `json:"case_id,omitempty" doc:"The pending case, if any. It stays pending."`
	State         tasker.TaskState `json:"state"`
	Priority      tasker.Priority  `json:"priority"`
	ReplayedSteps int              `json:"replayed_steps"`
	ReplayCount   int              `json:"replay_count" doc:"Number of replays, including this one."`
	ReplayedAt    time.Time        `json:"replayed_at"`
	ReplayedBy    string           `json:"replayed_by"`
	ReplayedByKey string           `json:"replayed_by_key,omitempty" doc:"Name of the API key."`
}

// FailureReport counts recent final failures. The cluster makes one every hour, of the last day, by default.
type FailureReport struct {
	AnalyzedAt   time.Time          `json:"analyzed_at"`
	Since        time.Time          `json:"since" doc:"Start of the analysed period."`
	TotalCount   int                `json:"total_count"`
	Replayable   int                `json:"replayable_count" doc:"Number of these that are pending, in error and retryable."`
	Reasons      []ReasonCount      `json:"reasons" doc:"Most frequent first."`
	Fingerprints []FingerprintCount `json:"patterns" doc:"Most frequent first; at most 200."`
	Alarms       []FailureAlarm     `json:"alarms"`
}

// ReasonCount counts the cases of one reason.
type ReasonCount struct {
	FailureReason tasker.CaseReason `json:"failure_reason"`
	Count         int               `json:"count"`
	Replayable    int               `json:"replayable_count"`
}

// FingerprintCount counts the cases of one namespace, reason and fingerprint.
type FingerprintCount struct {
	Namespace     string            `json:"namespace"`
	FailureReason tasker.CaseReason `json:"failure_reason"`
	Fingerprint   string            `json:"error_pattern" doc:"Empty if there was no failure."`
	Count         int               `json:"count"`
	Replayable    int               `json:"replayable_count"`
	FirstAt       time.Time         `json:"first_at"`
	LastAt        time.Time         `json:"last_at"`
	New           bool              `json:"new,omitempty" doc:"Not seen by any analysis in the last 30 days."`
}

// FailureAlarm is one finding for an operator to check.
type FailureAlarm struct {
	Kind          FailureAlarmKind  `json:"kind"`
	Message       string            `json:"message"`
	Namespace     string            `json:"namespace,omitempty" doc:"The new fingerprint."`
	FailureReason tasker.CaseReason `json:"failure_reason,omitempty"`
	Fingerprint   string            `json:"error_pattern,omitempty" doc:"The new fingerprint."`
	Count         int               `json:"count"`
}

// FailureAlarmKind is the subject of an alarm.
type FailureAlarmKind string

// The kinds of alarms.
const (
	AlarmNewFingerprint FailureAlarmKind = "new_pattern"
	AlarmFrequentReason FailureAlarmKind = "frequent_reason"
	AlarmReplayable     FailureAlarmKind = "replayable" // a hint: consider a replay
)
