package deadletters

import (
	"time"

	"github.com/google/uuid"
)

// Redrive is an operation on a frozen selection.
type Redrive struct {
	RedriveUUID   uuid.UUID `json:"redrive_uuid"`
	Namespace     string    `json:"namespace,omitempty"`
	Operation     Operation `json:"operation" enum:"redrive,discard,restore"`
	Selection     Selection `json:"selection"`
	Destination   string    `json:"destination,omitempty"`
	Edit          *Edit     `json:"edit,omitempty"`
	Plan          Plan      `json:"plan"`
	Stop          StopRule  `json:"stop"`
	IncludeParked bool      `json:"include_parked,omitempty"`

	State      RedriveState `json:"state" enum:"draft,running,observing,paused,halted,done,cancelled"`
	StateAt    time.Time    `json:"state_at" doc:"When it entered the state."`
	HaltReason string       `json:"halt_reason,omitempty" doc:"Why the stop rule halted it."`

	FrozenAt  *time.Time `json:"frozen_at,omitempty" doc:"When the selection was written down: what arrives later is not included."`
	StartedAt *time.Time `json:"started_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`

	Total    int           `json:"total"`
	Counts   ItemCounts    `json:"counts,omitzero" doc:"Missing in a list."`
	Wave     int           `json:"wave" doc:"Number of the wave under way; 0 before the first."`
	WaveSize int           `json:"wave_size"`
	WaveSent int           `json:"wave_sent" doc:"Items of the wave that are decided."`
	Waves    []RedriveWave `json:"waves,omitempty" maxItems:"50" doc:"The newest waves, in their order: at most 50, fewer where they are larger than 2,000 items. Missing in a list."`

	Actor     string    `json:"actor,omitempty"`
	KeyName   string    `json:"key_name,omitempty" doc:"Name of the API key of the request."`
	Reason    string    `json:"reason,omitempty"`
	CreatedAt time.Time `json:"created_at"`

	ETag string `json:"etag,omitempty" doc:"Changes with state and progress. An act with If-Match is refused if it has changed."`
}

// RedriveAct is an act on a redrive.
type RedriveAct struct {
	Action RedriveAction `json:"action" enum:"start,pause,resume,cancel"`
	Act
}

// RedriveFilter selects a page of redrives. Zero fields do not restrict.
type RedriveFilter struct {
	Namespace string         `query:"namespace" maxLength:"255"`
	States    []RedriveState `query:"state,explode" doc:"States; repeatable."`
	Limit     int            `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor    string         `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// RedrivePage is a page of redrives.
type RedrivePage struct {
	Redrives   []Redrive `json:"redrives"`
	NextCursor string    `json:"next_cursor,omitempty" doc:"Start of the next page; missing at the end."`
}

// Item is one item of a redrive.
type Item struct {
	No        int       `json:"no" doc:"Items are numbered in the order in which they are sent."`
	Kind      Kind      `json:"kind" enum:"letter,case"`
	ID        uuid.UUID `json:"id" doc:"Letter or case."`
	State     ItemState `json:"state" enum:"pending,sending,unknown,sent,returned,completed,failed,skipped"`
	Wave      int       `json:"wave,omitempty"`
	At        time.Time `json:"at,omitzero" doc:"Time of the state."`
	Message   string    `json:"message,omitempty" doc:"Why it failed, was skipped, or is unknown."`
	GroupID   string    `json:"group_id,omitempty" doc:"Group in which it came back."`
	Uncertain bool      `json:"uncertain,omitempty" doc:"A try had no answer: what was sent may be there twice, under the same number; what failed may be there once."`
}

// ItemFilter selects a page of items. Zero fields do not restrict. In the same process the default page has 100 items.
type ItemFilter struct {
	State  ItemState `query:"state" enum:"pending,sending,unknown,sent,returned,completed,failed,skipped"`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor string    `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// ItemPage is a page of items.
type ItemPage struct {
	Items      []Item `json:"items"`
	NextCursor string `json:"next_cursor,omitempty" doc:"Start of the next page; missing at the end."`
}
