package deadletters

import (
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Kind is the kind of an item of the inbox.
type Kind string

// The kinds.
const (
	KindLetter Kind = "letter"
	KindCase   Kind = "case" // of a task; see package operate
)

// Selection selects letters and cases. Zero fields do not restrict.
type Selection struct {
	Namespace   string      `json:"namespace,omitempty" maxLength:"255"`
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
	MinReplays  int         `json:"min_replays,omitempty" minimum:"0" maximum:"1000"`
	Parked      *bool       `json:"parked,omitempty"`
}

// Operation is what a redrive does with its items.
type Operation string

// The operations.
const (
	// OpRedrive sends letters back, and runs the failed steps of the tasks of cases again.
	OpRedrive Operation = "redrive"
	// OpDiscard discards letters, and cancels the tasks of cases.
	OpDiscard Operation = "discard"
	// OpRestore opens discarded letters again.
	OpRestore Operation = "restore"
)

// Plan says in which waves a redrive sends. Zero fields take the server's defaults.
type Plan struct {
	Canary         int     `json:"canary,omitempty" doc:"Size of the first wave." minimum:"0" maximum:"100000"`
	Factor         float64 `json:"factor,omitempty" doc:"Each wave is that many times the size of the one before." minimum:"0" maximum:"100"`
	Largest        int     `json:"largest,omitempty" doc:"Size of the largest wave." minimum:"0" maximum:"100000"`
	ObserveSeconds float64 `json:"observe_seconds,omitempty" doc:"Time to watch for returns after each wave." minimum:"0" maximum:"86400"`
	Rate           float64 `json:"rate,omitempty" doc:"Items per second; 0: no limit." minimum:"0" maximum:"1000000"`
}

// StopRule says when a redrive halts. Zero fields do not.
type StopRule struct {
	ReturnedShare float64 `json:"returned_share,omitempty" doc:"Share of a wave that may come back." minimum:"0" maximum:"1"`
	SamePrint     int     `json:"same_fingerprint,omitempty" doc:"Items of a wave that may come back with one fingerprint." minimum:"0" maximum:"100000"`
	Failed        int     `json:"failed,omitempty" doc:"Failed sends of a wave at which it halts." minimum:"0" maximum:"100000"`
}

// RedriveRequest describes an operation on many letters and cases.
type RedriveRequest struct {
	Operation Operation `json:"operation" enum:"redrive,discard,restore"`
	Selection Selection `json:"selection"`
	// Destination is where letters are sent. Defaults to the origin of each. It must be allowed by its source.
	Destination   string   `json:"destination,omitempty" doc:"Where letters are sent, if their source allows it. Defaults to the origin of each." maxLength:"255"`
	Edit          *Edit    `json:"edit,omitempty"`
	Plan          Plan     `json:"plan,omitzero"`
	Stop          StopRule `json:"stop,omitzero"`
	IncludeParked bool     `json:"include_parked,omitempty" doc:"Take letters that were sent back too often as well."`
	Start         bool     `json:"start,omitempty" doc:"Start at once; otherwise it is a draft."`
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

// Change is one difference between an original and its edited form.
type Change struct {
	Pointer string `json:"pointer" doc:"JSON pointer into the payload, or key, header NAME, payload."`
	Before  string `json:"before,omitempty"`
	After   string `json:"after,omitempty"`
}

// DestinationCheck is whether letters can be sent to a destination.
type DestinationCheck struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Letters     int    `json:"letters"`
	Exists      bool   `json:"exists"`
	Allowed     bool   `json:"allowed"`
}
