package operate

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// CaseCause is the detail of a case's reason: the cause that stopped the task. Programs should treat an unknown cause,
// which may be new, like its reason.
type CaseCause string

// The causes of cases.
const (
	CauseRetriesExhausted CaseCause = "retries_exhausted" // the last attempt of a step failed
	CauseNoRetries        CaseCause = "no_retries"        // a step with a single attempt failed
	CauseNotRetryable     CaseCause = "not_retryable"     // the failure was final
	CauseClassLimit       CaseCause = "class_limit"       // no attempts are left for failures of this class
	CauseLostWorkers      CaseCause = "lost_workers"      // a step lost its worker too often
	CauseStale            CaseCause = "stale"             // too long in one state
	CauseDeadline         CaseCause = "deadline"          // longer than max_duration_minutes
	CauseCycle            CaseCause = "cycle"             // steps wait for each other
	CauseNoWorker         CaseCause = "no_worker"         // a step is ready, and no live worker serves its route
	CauseManual           CaseCause = "manual"            // opened manually
)

// Case is one investigation. Reason, cause, original state, error and snapshot are those of the latest occurrence: when
// a repaired task fails again while its case is pending, the same case records it.
type Case struct {
	CaseUUID        uuid.UUID           `json:"dlq_entry_uuid"`
	TaskUUID        uuid.UUID           `json:"task_uuid"`
	Namespace       string              `json:"namespace"`
	TaskName        string              `json:"task_name"`
	OriginalState   tasker.TaskState    `json:"original_state"`
	CurrentState    tasker.TaskState    `json:"current_state,omitempty" doc:"Current state of the task."`
	Reason          tasker.CaseReason   `json:"dlq_reason"`
	Cause           CaseCause           `json:"cause,omitempty" doc:"Detailed cause. Absent if unknown."`
	OpenedAt        time.Time           `json:"dlq_timestamp" doc:"Time of opening, that is, of the first occurrence."`
	OccurrenceCount int                 `json:"occurrence_count" doc:"Number of occurrences in this case."`
	LastOccurredAt  time.Time           `json:"last_occurred_at"`
	FailedStep      string              `json:"failed_step,omitempty" doc:"Name of the failed step that stops the task."`
	Handler         string              `json:"handler,omitempty" doc:"Handler of that step."`
	Fingerprint     string              `json:"error_pattern,omitempty" doc:"Fingerprint of the failure: its code, else its type, else its message without numbers."`
	ErrorMessage    string              `json:"error_message,omitempty" doc:"The first 1 KiB of the error message."`
	Class           tasker.FailureClass `json:"class,omitempty" doc:"Class of the failure: transient, resource, logic or worker."`
	Retryable       bool                `json:"retryable" doc:"Whether a retry may help: the failure was retryable, or the time ran out without a failure."`
	// A CaseSnapshot.
	Snapshot         json.RawMessage       `json:"task_snapshot,omitempty" doc:"A CaseSnapshot of the task at the latest occurrence, up to 512 KiB. Not in lists."`
	Recovery         *CaseRecovery         `json:"recovery,omitempty" doc:"How the task recovered. Absent while it is stuck or when it was cancelled."`
	ResolutionStatus tasker.CaseResolution `json:"resolution_status"`
	ResolutionNotes  string                `json:"resolution_notes,omitempty" doc:"Note of the resolution, or the last note while the case is pending."`
	ResolvedAt       *time.Time            `json:"resolved_at,omitempty"`
	ResolvedBy       string                `json:"resolved_by,omitempty"`
	ResolvedByKey    string                `json:"resolved_by_key,omitempty" doc:"Name of the API key that resolved the case."`
	Metadata         json.RawMessage       `json:"metadata,omitempty"`
	MetadataOmitted  bool                  `json:"metadata_omitted,omitempty" doc:"The metadata was omitted because the page would be too long; request the case or a shorter page."`
	ReplayCount      int                   `json:"replay_count,omitempty" doc:"Number of replays while the case was pending."`
	LastReplayedAt   *time.Time            `json:"last_replayed_at,omitempty"`
	LastReplayedBy   string                `json:"last_replayed_by,omitempty"`
	// LastReplayedByKey is the name of the API key.
	LastReplayedByKey string    `json:"last_replayed_by_key,omitempty"`
	CreatedAt         time.Time `json:"created_at"`
	UpdatedAt         time.Time `json:"updated_at"`
	ETag              string    `json:"etag,omitempty" doc:"Changes with every change of the case. An update with If-Match is refused if it has changed."`
	// Damage is why a damaged part of the stored row is left out; usually "".
	Damage string `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`

	Occurrences []CaseOccurrence `json:"occurrences,omitempty" doc:"The first, the latest and up to 8 occurrences in between, oldest first. Not in lists."`
	NoteCount   int              `json:"note_count"`
	Notes       []CaseNote       `json:"notes,omitempty" doc:"All notes, oldest first. Not in lists."`
}

// CaseOccurrence is one time at which the task of a case was found stuck. Only the first, the latest and a bounded
// number in between are kept, so that a task that fails every minute does not fill the database.
type CaseOccurrence struct {
	No            int                 `json:"no" doc:"1 opened the case. Numbers between the first and the latest may be missing, because only some are kept."`
	OccurredAt    time.Time           `json:"occurred_at"`
	Reason        tasker.CaseReason   `json:"dlq_reason"`
	Cause         CaseCause           `json:"cause,omitempty"`
	OriginalState tasker.TaskState    `json:"original_state"`
	FailedStep    string              `json:"failed_step,omitempty"`
	Fingerprint   string              `json:"error_pattern,omitempty"`
	ErrorMessage  string              `json:"error_message,omitempty"`
	Class         tasker.FailureClass `json:"class,omitempty"`
	Retryable     bool                `json:"retryable"`
	Recovery      *CaseRecovery       `json:"recovery,omitempty" doc:"How the task recovered before it got stuck again."`
	Snapshot      json.RawMessage     `json:"task_snapshot,omitempty" doc:"A CaseSnapshot. Absent for the latest occurrence, whose snapshot is that of the case."`
}

// CaseRecovery describes how the task of a case recovered. A recovery resolves a case only if configured so: an
// operator may still want to find the cause.
type CaseRecovery struct {
	At         time.Time        `json:"at"`
	State      tasker.TaskState `json:"state" doc:"The new state of the task; the last one when it has ended."`
	By         string           `json:"by" doc:"The operator, or system."`
	ByKey      string           `json:"by_key,omitempty" doc:"Name of the operator's API key."`
	How        string           `json:"how,omitempty" doc:"Kind of the act, or the worker that claimed the step."`
	FinishedAt *time.Time       `json:"finished_at,omitempty" doc:"Time at which the task ended."`
}

// CaseNote is one entry in the thread of a case. The thread only grows.
type CaseNote struct {
	No     int       `json:"no"`
	At     time.Time `json:"at"`
	Author string    `json:"author,omitempty"`
	Key    string    `json:"author_key,omitempty" doc:"Name of the author's API key."`
	Text   string    `json:"text"`
}

// CaseSnapshot is the task when it was found stuck: everything an operator needs without another query. A snapshot
// larger than 512 KiB leaves out the template, and then steps that had not failed.
type CaseSnapshot struct {
	TaskUUID           uuid.UUID         `json:"task_uuid"`
	Namespace          string            `json:"namespace"`
	TaskName           string            `json:"task_name"`
	Version            string            `json:"version"`
	CurrentState       tasker.TaskState  `json:"current_state"`
	TimeInStateMinutes float64           `json:"time_in_state_minutes"`
	ThresholdMinutes   float64           `json:"threshold_minutes,omitempty"` // for staleness_timeout
	TaskAgeMinutes     float64           `json:"task_age_minutes"`
	Priority           tasker.Priority   `json:"priority"`
	CorrelationID      string            `json:"correlation_id,omitempty"`
	Context            json.RawMessage   `json:"context,omitempty"` // a text when cut at 16 KiB
	CreatedAt          time.Time         `json:"created_at"`
	DetectedAt         time.Time         `json:"detection_time"`
	Reason             tasker.CaseReason `json:"dlq_reason"`
	Detail             string            `json:"detail,omitempty"` // the observation, in one sentence
	Template           json.RawMessage   `json:"template,omitempty"`
	Steps              []SnapshotStep    `json:"steps"`
	StepsOmitted       int               `json:"steps_omitted,omitempty"`
}

// SnapshotStep is a step in a CaseSnapshot.
type SnapshotStep struct {
	StepUUID      uuid.UUID        `json:"step_uuid"`
	Name          string           `json:"name"`
	CurrentState  tasker.StepState `json:"current_state"`
	Attempts      int              `json:"attempts"`
	MaxAttempts   int              `json:"max_attempts"`
	Dependencies  []string         `json:"dependencies,omitempty"`
	Worker        string           `json:"worker,omitempty"`
	ReadyAt       *time.Time       `json:"ready_at,omitempty"`
	StartedAt     *time.Time       `json:"started_at,omitempty"`
	NextRetryAt   *time.Time       `json:"next_retry_at,omitempty"`
	LastFailureAt *time.Time       `json:"last_failure_at,omitempty"`
	LastError     *tasker.Failure  `json:"last_error,omitempty"`
}

// CaseFilter selects cases. A zero field does not restrict. All set fields must match.
type CaseFilter struct {
	// CaseUUIDs name the cases.
	CaseUUIDs        []uuid.UUID           `json:"dlq_entry_uuids,omitempty" maxItems:"1000"`
	ResolutionStatus tasker.CaseResolution `json:"resolution_status,omitempty" query:"resolution_status" enum:"pending,manually_resolved,permanently_failed,cancelled"`
	Reason           tasker.CaseReason     `json:"dlq_reason,omitempty" query:"dlq_reason"`
	Namespace        string                `json:"namespace,omitempty" query:"namespace" maxLength:"255"`
	TaskName         string                `json:"task_name,omitempty" query:"task_name" maxLength:"255" doc:"Template name or task type."`
	CurrentState     tasker.TaskState      `json:"current_state,omitempty" query:"current_state" doc:"Current state of the task."`
	CaseFailureFilter
	After  time.Time `json:"after,omitzero" query:"after" doc:"Opened at or after this time."`
	Before time.Time `json:"before,omitzero" query:"before" doc:"Opened before this time."`
	Limit  int       `json:"-" query:"limit"` // of a list: defaults to 50, the queue's to 100; at most the server's page limit
	Offset int       `json:"-" query:"offset"`
}

// CaseFailureFilter selects cases by the failure that stops the task. It searches step, handler and message among the
// newest, or most urgent, 20,000 cases that pass the rest of the filter. CaseStats does not accept it.
type CaseFailureFilter struct {
	FailedStep   string `json:"failed_step,omitempty" query:"failed_step" maxLength:"255" doc:"Name of the step."`
	Handler      string `json:"handler,omitempty" query:"handler" maxLength:"255" doc:"Handler of that step."`
	Fingerprint  string `json:"error_pattern,omitempty" query:"error_pattern" maxLength:"255" doc:"Fingerprint as lists show it."`
	ErrorMessage string `json:"error_message,omitempty" query:"error_message" maxLength:"255" doc:"A literal part of the error message."`
}

// OpenCaseRequest opens a case manually.
type OpenCaseRequest struct {
	Reason   string          `json:"reason" doc:"The reason in words." minLength:"1" maxLength:"4096"`
	OpenedBy string          `json:"opened_by,omitempty" doc:"Actor. Required, but defaults to the name of the API key." maxLength:"255"`
	Metadata json.RawMessage `json:"metadata,omitempty" doc:"An object."`
}

// CaseUpdate is the finding of an investigation. Absent fields stay unchanged; members of Metadata are merged into the
// stored ones, and null removes a member. Notes are added to the thread of the case; an update with only notes is
// allowed on a resolved case too. CodeConflict: ExpectedState or IfMatch does not hold. Repeated updates add the note
// again.
type CaseUpdate struct {
	ResolutionStatus tasker.CaseResolution `json:"resolution_status,omitempty"`
	ResolutionNotes  *string               `json:"resolution_notes,omitempty" maxLength:"16384" doc:"A note to add, with resolved_by as its author. A case has up to 200 notes of 256 KiB in all."`
	ResolvedBy       string                `json:"resolved_by,omitempty" doc:"Actor of the update and author of the note; required to resolve or reopen. Defaults to the name of the API key." maxLength:"255"`
	Metadata         json.RawMessage       `json:"metadata,omitempty" doc:"Object to merge; null removes a member."`
	// Reopen makes a resolved case pending again; ResolutionNotes give the reason.
	Reopen bool `json:"reopen,omitempty" doc:"Make a resolved case pending again."`
	// ExpectedState and IfMatch refuse the act with CodeConflict unless the case is in that state, or its etag is in
	// the list.
	ExpectedState string `json:"expected_state,omitempty" doc:"Expected resolution_status. With any other the update is refused with conflict." enum:"pending,manually_resolved,permanently_failed,cancelled"`
	IfMatch       string `json:"if_match,omitempty" doc:"Expected etag. If the etag has changed, the act is refused with conflict. Same as the header If-Match." maxLength:"1024"`
}

// CaseUpdated is the response to an update.
type CaseUpdated struct {
	Success  bool      `json:"success"`
	Message  string    `json:"message"`
	CaseUUID uuid.UUID `json:"dlq_entry_uuid"`
}

// CaseStats counts the cases of one reason. Times are those of the opening.
type CaseStats struct {
	Reason            tasker.CaseReason `json:"dlq_reason"`
	TotalEntries      int               `json:"total_entries"`
	Pending           int               `json:"pending"`
	ManuallyResolved  int               `json:"manually_resolved"`
	PermanentFailures int               `json:"permanent_failures"`
	Cancelled         int               `json:"cancelled"`
	OldestEntry       *time.Time        `json:"oldest_entry,omitempty"`
	NewestEntry       *time.Time        `json:"newest_entry,omitempty"`
	// Of resolved cases; null when there are none.
	AvgResolutionTimeMinutes *float64 `json:"avg_resolution_time_minutes"`
}

// QueuedCase is a pending case in the order of urgency. PriorityScore is a base by reason, plus one for each minute
// since the opening.
type QueuedCase struct {
	CaseUUID      uuid.UUID         `json:"dlq_entry_uuid"`
	TaskUUID      uuid.UUID         `json:"task_uuid"`
	Namespace     string            `json:"namespace"`
	TaskName      string            `json:"task_name"`
	OriginalState tasker.TaskState  `json:"original_state"`
	CurrentState  tasker.TaskState  `json:"current_state"`
	Reason        tasker.CaseReason `json:"dlq_reason"`
	OpenedAt      time.Time         `json:"dlq_timestamp"`
	MinutesInDLQ  float64           `json:"minutes_in_dlq"`
	PriorityScore float64           `json:"priority_score"` // base of the reason + minutes
	Priority      tasker.Priority   `json:"priority"`
	Recovered     bool              `json:"recovered" doc:"Whether the task continued or completed, so that the case only needs a resolution. False for a cancelled task."`

	Cause           CaseCause           `json:"cause,omitempty"`
	OccurrenceCount int                 `json:"occurrence_count"`
	LastOccurredAt  time.Time           `json:"last_occurred_at"`
	FailedStep      string              `json:"failed_step,omitempty"`
	Handler         string              `json:"handler,omitempty" doc:"Handler of that step."`
	Fingerprint     string              `json:"error_pattern,omitempty"`
	ErrorMessage    string              `json:"error_message,omitempty"`
	Class           tasker.FailureClass `json:"class,omitempty"`
	Retryable       bool                `json:"retryable"`

	// Damage is why a damaged part of the stored row is left out; usually "".
	Damage string `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`
}

// Health is how close a task is to being stale.
type Health string

// The healths, by the time in state: below 80 % of the threshold, below 100 %, above.
const (
	Healthy Health = "healthy"
	Warning Health = "warning"
	Stale   Health = "stale"
)

// StalenessFilter selects live tasks. A zero field does not restrict.
type StalenessFilter struct {
	Health    Health `query:"health_status" enum:"healthy,warning,stale"`
	Namespace string `query:"namespace_name" maxLength:"255"`
	TaskName  string `query:"task_name" maxLength:"255" doc:"Template name or task type."`
	Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Page size."`
}

// ThresholdSource is the origin of the time after which a task is stale.
type ThresholdSource string

// The sources of a threshold.
const (
	ThresholdOfTemplate ThresholdSource = "template"     // its template sets it; it overrides any promise
	ThresholdOfAll      ThresholdSource = "global"       // the configuration sets it, for all tasks
	ThresholdOfPromise  ThresholdSource = "promise"      // the same, counted from the end of a promise to a step
	ThresholdOfDuration ThresholdSource = "max_duration" // its template's max_duration_minutes
)

// Promise is a promise to a step that a threshold for all tasks does not override.
type Promise string

// The promises.
const (
	PromisedAttempt Promise = "attempt" // a live worker holds the step, until its timeout
	PromisedQueue   Promise = "queue"   // the step waits for a worker, within the bound of the queue
	PromisedTime    Promise = "time"    // the step waits for a time: a retry, a snooze, run_at
	PromisedRelease Promise = "release" // the step is ready, and a pause or a limit holds it back
	PromisedOutside Promise = "outside" // the step waits for something outside of workers, for any time
)

// StaleTask is a live task in a state with a threshold, or a task with a bounded total duration. Its threshold is the
// one that decides Health.
type StaleTask struct {
	TaskUUID                  uuid.UUID        `json:"task_uuid"`
	Namespace                 string           `json:"namespace_name"`
	TaskName                  string           `json:"task_name"`
	CurrentState              tasker.TaskState `json:"current_state"`
	TimeInStateMinutes        float64          `json:"time_in_state_minutes"`
	StalenessThresholdMinutes float64          `json:"staleness_threshold_minutes" doc:"Effective threshold; 0 while a promise without an end delays it."`
	CountedMinutes            float64          `json:"counted_minutes" doc:"Used part of the threshold: the time in the state or of the whole task."`
	ThresholdSource           ThresholdSource  `json:"threshold_source" doc:"template, global, promise (global, from the end of a promise) or max_duration."`
	Promise                   Promise          `json:"promise,omitempty" doc:"Promise that delays the threshold: attempt, queue or time."`
	PromisedStep              string           `json:"promised_step,omitempty" doc:"Name of the step with the promise."`
	PromisedUntil             *time.Time       `json:"promised_until,omitempty" doc:"End of the promise; absent if it has none."`
	StaleAt                   *time.Time       `json:"stale_at,omitempty" doc:"Time at which the task becomes stale if nothing changes."`
	Health                    Health           `json:"health_status"`
	Priority                  tasker.Priority  `json:"priority"`
	// Damage is why a damaged part of the stored row is left out; usually "".
	Damage string `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`
}

// DetectRequest runs the staleness detector.
type DetectRequest struct {
	DryRun    bool `json:"dry_run,omitempty"`                                // only report
	BatchSize int  `json:"batch_size,omitempty" minimum:"1" maximum:"10000"` // defaults to the configuration's

	// Actor and Reason are recorded with the act detect_staleness, unless it is a dry run.
	Actor  string `json:"actor,omitempty" doc:"Name recorded with the act. Defaults to the name of the API key." maxLength:"255"`
	Reason string `json:"reason,omitempty" doc:"Reason of the act." maxLength:"4096"`
}

// DetectionAction is the act of the detector on a stale task.
type DetectionAction string

// The acts of the detector.
const (
	WouldTransition    DetectionAction = "would_transition_to_dlq_and_error" // dry run
	MovedAndErrored    DetectionAction = "transitioned_to_dlq_and_error"
	MovedToDLQOnly     DetectionAction = "moved_to_dlq_only"
	ErroredOnly        DetectionAction = "transitioned_to_error_only" // it already had a pending case
	DetectionTransFail DetectionAction = "transition_failed"
)

// Detection is one result row of the staleness detector. In a dry run MovedToDLQ and TransitionSuccess are false.
type Detection struct {
	TaskUUID           uuid.UUID        `json:"task_uuid"`
	Namespace          string           `json:"namespace_name"`
	TaskName           string           `json:"task_name"`
	CurrentState       tasker.TaskState `json:"current_state"` // before
	TimeInStateMinutes float64          `json:"time_in_state_minutes"`
	ThresholdMinutes   float64          `json:"staleness_threshold_minutes"`
	ActionTaken        DetectionAction  `json:"action_taken"`
	MovedToDLQ         bool             `json:"moved_to_dlq"`
	TransitionSuccess  bool             `json:"transition_success"`
}
