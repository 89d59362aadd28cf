package tasker

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// DeadLetterBackend is the part of a Backend about the dead-letter queue: tasks that
// have failed for good, with their cases. A replay runs the failed steps of one
// again. It is the same task, with all its history; the case stays, and counts.
type DeadLetterBackend interface {
	// DeadLetters returns one page, newest first.
	DeadLetters(ctx context.Context, filter DeadLetterFilter) (*DeadLetterPage, error)
	// ReplayTask runs the failed steps of a task in error again. CodeWrongState when it
	// is not in error, or no step of it has failed.
	ReplayTask(ctx context.Context, task uuid.UUID, req ReplayRequest) (*Replay, error)
	// DeadLetterPatterns returns the last analysis of what has failed for good lately,
	// of one namespace or of all (""). CodeNotFound before the first.
	DeadLetterPatterns(ctx context.Context, namespace string) (*DeadLetterReport, error)
}

// DeadLetter is an entry of the dead-letter queue.
type DeadLetter struct {
	TaskID           uuid.UUID      `json:"task_id"`
	CaseID           uuid.UUID      `json:"case_id" doc:"Its case; called dlq_entry_uuid elsewhere."`
	Namespace        string         `json:"namespace"`
	TaskType         string         `json:"task_type" doc:"The task type, or the template's name."`
	State            TaskState      `json:"state" doc:"As it is now."`
	Priority         Priority       `json:"priority"`
	CreatedAt        time.Time      `json:"created_at"`
	MovedToDLQAt     time.Time      `json:"moved_to_dlq_at"`
	FailureReason    CaseReason     `json:"failure_reason"`
	Cause            CaseCause      `json:"cause,omitempty" doc:"What stopped the task, in more detail than the reason."`
	OccurrenceCount  int            `json:"occurrence_count" doc:"How often it was found stuck since it was moved here."`
	LastOccurredAt   time.Time      `json:"last_occurred_at"`
	FailedStep       string         `json:"failed_step,omitempty" doc:"The step whose failure stops the task."`
	ErrorPattern     string         `json:"error_pattern,omitempty" doc:"What kind of failure it was the last time: its code, else its type, else its message without numbers."`
	ErrorMessage     string         `json:"error_message,omitempty" doc:"The beginning of its message, up to 1 KiB."`
	Retryable        bool           `json:"retryable" doc:"Trying again may help: that failure said so, or nothing failed and time ran out."`
	LastError        *Failure       `json:"last_error,omitempty" doc:"Of the last failed attempt of the step that stops it, a replay's too."`
	LastFailureAt    *time.Time     `json:"last_failure_at,omitempty"`
	RetryCount       int            `json:"retry_count" doc:"Retries of the step that failed last."`
	ResolutionStatus CaseResolution `json:"resolution_status"`
	ReplayCount      int            `json:"replay_count"`
	LastReplayedAt   *time.Time     `json:"last_replayed_at,omitempty"`
	LastReplayedBy   string         `json:"last_replayed_by,omitempty"`
	// Damage says why a part of the row cannot be shown, which is left out then; "" for nearly all.
	Damage string `json:"damage,omitempty" doc:"Why a part of what is stored cannot be shown; that part is left out."`
	// LastReplayedByKey is the name of the API key.
	LastReplayedByKey string `json:"last_replayed_by_key,omitempty"`
}

// DeadLetterFilter selects entries. Zero fields do not restrict.
type DeadLetterFilter struct {
	// ResolutionStatus defaults to pending: tasks that are in error now, and whose case
	// nobody has resolved. With another one, entries are resolved cases.
	ResolutionStatus CaseResolution
	Reason           CaseReason
	ErrorPattern     string
	// FailedStep is the name of the step whose failure stops the task, and ErrorMessage a
	// part of what the failure says.
	FailedStep   string
	ErrorMessage string
	Retryable    *bool
	Namespace    string
	TaskType     string
	After        time.Time // moved to the queue at or after
	Before       time.Time // moved there before
	Limit        int       // defaults to 50; at most the server's page limit
	Cursor       string    // NextCursor of the page before
}

// DeadLetterPage is one page of the dead-letter queue.
type DeadLetterPage struct {
	Tasks       []DeadLetter `json:"tasks"`
	TotalCount  int          `json:"total_count" doc:"Of all pages, counted up to 10,000."`
	TotalCapped bool         `json:"total_capped,omitempty" doc:"There are more."`
	NextCursor  string       `json:"next_cursor,omitempty"`
}

// ReplayRequest runs a task of the dead-letter queue again.
type ReplayRequest struct {
	ResetRetryCount bool     `json:"reset_retry_count,omitempty" doc:"Give the failed steps all their attempts again. Without it they have what is left, and one attempt if nothing is."`
	NewPriority     Priority `json:"new_priority,omitempty" doc:"For the task and all its open steps. Left out: as it was."`
	Reason          string   `json:"reason,omitempty" maxLength:"4096" doc:"Why; kept in the audit trail. Defaults to no reason given."`
	ReplayedBy      string   `json:"replayed_by,omitempty" maxLength:"255" doc:"Who; defaults to the API key's name, else to anonymous."`
	// ExpectedState refuses the act with CodeConflict unless the task is in that state; IfMatch
	// unless it has an etag of that list.
	ExpectedState string `json:"expected_state,omitempty" doc:"The state that the task is expected to be in; in any other nothing is done: conflict." enum:"pending,initializing,enqueuing_steps,steps_in_process,evaluating_results,waiting_for_dependencies,waiting_for_retry,blocked_by_failures,complete,error,cancelled,resolved_manually"`
	IfMatch       string `json:"if_match,omitempty" doc:"The etag that was read; when it has another by now nothing is done: conflict. As the header If-Match." maxLength:"1024"`
}

// Replay answers a ReplayRequest.
type Replay struct {
	TaskID        uuid.UUID  `json:"task_id"`
	CaseID        *uuid.UUID `json:"case_id,omitempty" doc:"Its pending case, if there is one. It stays pending."`
	State         TaskState  `json:"state"`
	Priority      Priority   `json:"priority"`
	ReplayedSteps int        `json:"replayed_steps"`
	ReplayCount   int        `json:"replay_count" doc:"This one included."`
	ReplayedAt    time.Time  `json:"replayed_at"`
	ReplayedBy    string     `json:"replayed_by"`
	ReplayedByKey string     `json:"replayed_by_key,omitempty" doc:"The name of the API key."`
}

// DeadLetterReport counts what has failed for good lately. The cluster makes one every
// hour, of the last day, unless it is configured otherwise.
type DeadLetterReport struct {
	AnalyzedAt time.Time           `json:"analyzed_at"`
	Since      time.Time           `json:"since" doc:"Cases opened from here on are counted."`
	TotalCount int                 `json:"total_count"`
	Replayable int                 `json:"replayable_count" doc:"Of these: still in error, pending, and trying again may help."`
	Reasons    []DeadLetterReason  `json:"reasons" doc:"The most frequent first."`
	Patterns   []DeadLetterPattern `json:"patterns" doc:"The most frequent first; at most 200."`
	Alarms     []DeadLetterAlarm   `json:"alarms"`
}

// DeadLetterReason counts the cases of one reason.
type DeadLetterReason struct {
	FailureReason CaseReason `json:"failure_reason"`
	Count         int        `json:"count"`
	Replayable    int        `json:"replayable_count"`
}

// DeadLetterPattern counts the cases of one kind of failure.
type DeadLetterPattern struct {
	Namespace     string     `json:"namespace"`
	FailureReason CaseReason `json:"failure_reason"`
	ErrorPattern  string     `json:"error_pattern" doc:"Empty where there was no failure."`
	Count         int        `json:"count"`
	Replayable    int        `json:"replayable_count"`
	FirstAt       time.Time  `json:"first_at"`
	LastAt        time.Time  `json:"last_at"`
	New           bool       `json:"new,omitempty" doc:"No analysis of the last 30 days has seen it before."`
}

// DeadLetterAlarm is one thing that somebody should look at.
type DeadLetterAlarm struct {
	Kind          DeadLetterAlarmKind `json:"kind"`
	Message       string              `json:"message"`
	Namespace     string              `json:"namespace,omitempty" doc:"Of a new pattern."`
	FailureReason CaseReason          `json:"failure_reason,omitempty"`
	ErrorPattern  string              `json:"error_pattern,omitempty" doc:"Of a new pattern."`
	Count         int                 `json:"count"`
}

// DeadLetterAlarmKind says what an alarm is about.
type DeadLetterAlarmKind string

// The kinds of alarms.
const (
	AlarmNewPattern     DeadLetterAlarmKind = "new_pattern"
	AlarmFrequentReason DeadLetterAlarmKind = "frequent_reason"
	AlarmReplayable     DeadLetterAlarmKind = "replayable" // a hint: consider to replay them
)
