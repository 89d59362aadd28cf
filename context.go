package tasker

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// EditContextRequest changes the context of a task in error. Exactly one of Context and Merge
// is set. Steps that have already ended do not run again. The new context is validated against
// the template's input schema, like that of a submission. Every edit is kept with the task and
// in the audit trail.
type EditContextRequest struct {
	Context json.RawMessage `json:"context,omitempty" doc:"The complete new context, any JSON value except null. Either this or merge."`
	Merge   json.RawMessage `json:"merge,omitempty" doc:"A JSON merge patch (RFC 7396) for the context; null removes a member. Either this or context."`

	Reason   string `json:"reason" doc:"Reason for the edit; kept with the task." minLength:"1" maxLength:"4096"`
	EditedBy string `json:"edited_by,omitempty" doc:"Actor. Required, but defaults to the name of the API key." maxLength:"255"`

	// ExpectedVersion is the Task.ContextVersion that the caller has read.
	ExpectedVersion *int `json:"expected_context_version,omitempty" doc:"Expected context_version. With any other the edit is refused with conflict." minimum:"0"`

	NoRetry         bool `json:"no_retry,omitempty" doc:"Leave the task in error instead of running its failed steps again."`
	ResetRetryCount bool `json:"reset_retry_count,omitempty" doc:"Give the failed steps all their attempts again. Otherwise they have the attempts left, at least one."`
}

// EditedContext is the response to an EditContextRequest. An edit to the same context is no
// error, and changes nothing: Changed tells.
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

// ContextEdit is one change of a task's context, as its history records it. Versions count from
// 1 for the first edit; version 0 is the submitted context.
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
