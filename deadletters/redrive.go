package deadletters

import (
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Selection selects letters and cases. Zero fields do not restrict.
type Selection struct {
	Namespace   string      `json:"namespace,omitempty" doc:"A redrive has one. Defaults to that of the first group, else of the first letter in ids, else to the only one of the API key." maxLength:"255"`
	Kind        Kind        `json:"kind,omitempty" enum:"letter,case" doc:"Defaults to both."`
	IDs         []uuid.UUID `json:"ids,omitempty" doc:"Letters and cases by their UUIDs." maxItems:"1000"`
	Groups      []string    `json:"groups,omitempty" doc:"IDs of groups." maxItems:"100"`
	Source      string      `json:"source,omitempty" maxLength:"255"`
	Origin      string      `json:"origin,omitempty" maxLength:"255"`
	Template    string      `json:"template,omitempty" doc:"Template of cases." maxLength:"255"`
	State       LetterState `json:"state,omitempty" enum:"open,scheduled,redriving,redriven,discarded" doc:"State of letters; open selects pending cases."`
	ErrorType   string      `json:"error_type,omitempty" maxLength:"255"`
	Text        string      `json:"text,omitempty" doc:"Literal part of an error message or a payload." maxLength:"255"`
	HeaderName  string      `json:"header_name,omitempty" doc:"Letters with this header." maxLength:"255"`
	HeaderValue string      `json:"header_value,omitempty" doc:"Its value." maxLength:"1024"`
	After       time.Time   `json:"after,omitzero" doc:"Died last at or after this time."`
	Before      time.Time   `json:"before,omitzero" doc:"Died last before this time."`
	FirstAfter  time.Time   `json:"first_after,omitzero" doc:"Died first, or case opened, at or after this time."`
	FirstBefore time.Time   `json:"first_before,omitzero" doc:"Died first, or case opened, before this time."`
	MinReplays  int         `json:"min_replays,omitempty" minimum:"0" maximum:"1000"`
	Replayed    *bool       `json:"replayed,omitempty" doc:"Sent back before, or not; of cases, whether their tasks were replayed before, under any case."`
	Retryable   *bool       `json:"retryable,omitempty" doc:"Whether a retry may help."`
	Parked      *bool       `json:"parked,omitempty"`
	// CaseReason and TaskState select cases only.
	CaseReason tasker.CaseReason `json:"reason,omitempty" doc:"Why a case was opened." enum:"staleness_timeout,max_retries_exceeded,dependency_cycle_detected,worker_unavailable,manual_dlq"`
	TaskState  tasker.TaskState  `json:"task_state,omitempty" doc:"State of the task of a case, now." enum:"pending,initializing,enqueuing_steps,steps_in_process,evaluating_results,waiting_for_dependencies,waiting_for_retry,blocked_by_failures,complete,error,cancelled,resolved_manually"`
}

// Plan says how many items a redrive takes, in which waves it sends them, and how it replays the tasks of cases. Zero
// fields take the server's defaults.
type Plan struct {
	Canary         int     `json:"canary,omitempty" doc:"Size of the first wave. Defaults to 10." minimum:"0" maximum:"100000"`
	Factor         float64 `json:"factor,omitempty" doc:"Each wave is that many times the size of the one before. Defaults to 2." minimum:"0" maximum:"100"`
	Largest        int     `json:"largest,omitempty" doc:"Size of the largest wave. Defaults to 1000." minimum:"0" maximum:"100000"`
	ObserveSeconds float64 `json:"observe_seconds,omitempty" doc:"Time to watch for returns after each wave. Defaults to 30; in an answer, none if it is missing." minimum:"0" maximum:"86400"`
	Rate           float64 `json:"rate,omitempty" doc:"Items per second; 0: no limit." minimum:"0" maximum:"1000000"`
	Limit          int     `json:"limit,omitempty" doc:"Items at most: of more, those that died first. 0: all, of at most 1,000,000." minimum:"0" maximum:"1000000"`
	// KeepAttempts and Priority are for selections of the kind case, without an edit.
	KeepAttempts bool            `json:"keep_attempts,omitempty" doc:"Of cases: failed steps have only the attempts left, at least one. By default they have all attempts again."`
	Priority     tasker.Priority `json:"priority,omitempty" doc:"Of cases: new priority of the tasks and their open steps." maxLength:"255"`
	AtMostOnce   bool            `json:"at_most_once,omitempty" doc:"A letter whose send had no answer stays open, as unknown. By default it is sent again under the same number until the outcome is known."`
}

// StopRule says when a redrive halts. In a request, zero fields take the server's defaults.
type StopRule struct {
	ReturnedShare float64 `json:"returned_share,omitempty" doc:"Share of a wave that may come back; 1 never halts. Defaults to 0.2." minimum:"0" maximum:"1"`
	SamePrint     int     `json:"same_fingerprint,omitempty" doc:"Items of a wave with one fingerprint that come back at which it halts. Defaults to 25." minimum:"0" maximum:"100000"`
	Failed        int     `json:"failed,omitempty" doc:"Failed sends of a wave at which it halts. Defaults to 10." minimum:"0" maximum:"100000"`
}

// RedriveRequest describes an operation on many letters and cases.
type RedriveRequest struct {
	Operation     Operation `json:"operation" enum:"redrive,discard,restore"`
	Selection     Selection `json:"selection"`
	Destination   string    `json:"destination,omitempty" doc:"Where letters are sent, if their source allows it. Defaults to the origin of each." maxLength:"255"`
	Edit          *Edit     `json:"edit,omitempty"`
	Plan          Plan      `json:"plan,omitzero"`
	Stop          StopRule  `json:"stop,omitzero"`
	IncludeParked bool      `json:"include_parked,omitempty" doc:"Take letters that were sent back too often as well."`
	Start         bool      `json:"start,omitempty" doc:"Start at once; otherwise it is a draft."`
	Act
}

// Preview is what an operation would do.
type Preview struct {
	Total        int                `json:"total"`
	Capped       bool               `json:"capped,omitempty" doc:"There are more than total."`
	Samples      []PreviewItem      `json:"samples" doc:"Up to ten items."`
	Destinations []DestinationCheck `json:"destinations"`
	Problems     []tasker.Detail    `json:"problems,omitempty" doc:"What would refuse the operation; missing if it could start."`
	Plan         Plan               `json:"plan"`
	Stop         StopRule           `json:"stop"`
}

// PreviewItem is one sample of a preview.
type PreviewItem struct {
	Kind        Kind      `json:"kind" enum:"letter,case"`
	ID          uuid.UUID `json:"id"`
	Destination string    `json:"destination,omitempty"`
	Changes     []Change  `json:"changes,omitempty" doc:"What the edit changes."`
	Problem     string    `json:"problem,omitempty" doc:"Why the edit does not apply to it."`
}
