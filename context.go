package tasker

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// EditContextRequest changes the context of a task in error. Exactly one of Context
// and Merge is given. Steps that have ended before do not run again.
type EditContextRequest struct {
	Context json.RawMessage `json:"context,omitempty" doc:"The whole new context, any JSON value but null. Either this or merge."`
	Merge   json.RawMessage `json:"merge,omitempty" doc:"A JSON merge patch (RFC 7396) for the context: members are set, null removes one. Either this or context."`

	Reason   string `json:"reason" doc:"Why; kept with the task." minLength:"1" maxLength:"4096"`
	EditedBy string `json:"edited_by,omitempty" doc:"Who; required, but defaults to the API key's name." maxLength:"255"`

	// ExpectedVersion is the Task.ContextVersion that the caller has seen.
	ExpectedVersion *int `json:"expected_context_version,omitempty" doc:"Refuse the edit with conflict if the task has another context_version." minimum:"0"`

	NoRetry         bool `json:"no_retry,omitempty" doc:"Leave the task in error. Else its failed steps run again."`
	ResetRetryCount bool `json:"reset_retry_count,omitempty" doc:"Give the failed steps all their attempts again. Without it they have what is left, and one attempt if nothing is."`
}

// EditedContext answers an EditContextRequest.
type EditedContext struct {
	TaskUUID       uuid.UUID       `json:"task_uuid"`
	State          TaskState       `json:"state"`
	ContextVersion int             `json:"context_version"`
	Changed        bool            `json:"changed" doc:"False when the task had this context already; then nothing was stored of the edit."`
	Context        json.RawMessage `json:"context" doc:"The new one."`
	OldContext     json.RawMessage `json:"old_context,omitempty"`
	EndedSteps     []string        `json:"ended_steps" doc:"Steps that had ended before: they do not run again, whatever they made of the old context."`
	ReplayedSteps  int             `json:"replayed_steps" doc:"Steps that run again."`
}

// ContextEdit is one change of a task's context in its history.
type ContextEdit struct {
	No             int64           `json:"no" doc:"Of its record in the audit trail."`
	At             time.Time       `json:"at"`
	Actor          string          `json:"actor"`
	Reason         string          `json:"reason"`
	ContextVersion int             `json:"context_version" doc:"Of the context that it made."`
	OldContext     json.RawMessage `json:"old_context,omitempty" doc:"The context before. Together those of a history have up to 1 MiB, the newest first; others are in the audit trail."`
	OldOmitted     bool            `json:"old_context_omitted,omitempty" doc:"There was no room for it."`
	Merge          json.RawMessage `json:"merge,omitempty" doc:"The merge patch that made the new one, where it was one."`
	EndedSteps     []string        `json:"ended_steps,omitempty"`
	Replayed       bool            `json:"replayed" doc:"The failed steps ran again."`
}
