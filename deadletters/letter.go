package deadletters

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Letter is a dead letter.
type Letter struct {
	LetterUUID uuid.UUID `json:"letter_uuid"`
	Namespace  string    `json:"namespace"`
	Source     string    `json:"source"`
	Origin     string    `json:"origin,omitempty" doc:"Queue or topic that its consumer took it from."`
	Format     string    `json:"format,omitempty" doc:"Convention in which the message told of its failure; http for a report, raw if none was recognised."`
	Position   string    `json:"position,omitempty" doc:"Place of the message on its broker."`
	MessageID  string    `json:"message_id,omitempty"`

	State       LetterState `json:"state" enum:"open,scheduled,redriving,redriven,discarded"`
	StateAt     time.Time   `json:"state_at" doc:"When it entered the state."`
	DueAt       *time.Time  `json:"due_at,omitempty" doc:"When a policy sends it back."`
	Reason      string      `json:"reason,omitempty" doc:"Why it was discarded, or left to an operator."`
	RedriveUUID *uuid.UUID  `json:"redrive_uuid,omitempty" doc:"Redrive that holds it, or held it last."`
	PurgeAt     *time.Time  `json:"purge_at,omitempty" doc:"When it will be deleted. Open letters never are."`

	GroupID string        `json:"group_id" doc:"Group of its latest occurrence: 16 hexadecimal digits."`
	Failure LetterFailure `json:"failure" doc:"Of its latest occurrence."`
	Handler string        `json:"handler,omitempty" doc:"Consumer that failed."`

	Occurrences int  `json:"occurrences" doc:"How often it died."`
	Attempts    int  `json:"attempts" doc:"Attempts of its consumers, in all."`
	Replays     int  `json:"replays" doc:"How often it was sent back."`
	Lineage     int  `json:"lineage,omitempty" doc:"How often the letters that it continues were sent back. Bounds on replays count it."`
	Unknown     bool `json:"unknown,omitempty" doc:"The outcome of its last send is not known: it may have arrived, or not."`
	Parked      bool `json:"parked,omitempty" doc:"It was sent back too often: no redrive takes it unless told to."`

	// LinkedUUID and LinkedBy name the letter that it resembles.
	LinkedUUID *uuid.UUID `json:"linked_uuid,omitempty" doc:"Letter that it resembles."`
	LinkedBy   string     `json:"linked_by,omitempty" enum:"copied_header,same_id,same_content" doc:"Why: it carries the headers of a send of that letter and is another message; it has the same message ID; or it was sent as that letter without a confirmation, while an equal message died."`

	FirstAt    time.Time `json:"first_at" doc:"When it died first, as its message says."`
	LastAt     time.Time `json:"last_at" doc:"When it died last, as its message says."`
	CapturedAt time.Time `json:"captured_at"`

	Original       Content  `json:"original"`
	PayloadOmitted bool     `json:"payload_omitted,omitempty" doc:"The payload is above 1 KiB and was left out of the list: the letter by its UUID has it."`
	Edited         *Content `json:"edited,omitempty" doc:"What is sent in place of the original."`
	SizeBytes      int      `json:"size_bytes" doc:"Size of the payload. Of a letter that is cut: before that."`
	Cut            bool     `json:"cut,omitempty" doc:"An early version has kept only the beginning of the payload: the letter can be neither edited nor sent back."`
	Undecoded      string   `json:"undecoded,omitempty" doc:"Why the message could not be decoded."`

	ETag string `json:"etag,omitempty" doc:"Changes with every change of the letter. An act with If-Match is refused if it has changed."`
}

// Occurrence is one time that a letter died.
type Occurrence struct {
	No          int           `json:"no"`
	At          time.Time     `json:"at"`
	GroupID     string        `json:"group_id"`
	Failure     LetterFailure `json:"failure"`
	Handler     string        `json:"handler,omitempty"`
	Origin      string        `json:"origin,omitempty"`
	Position    string        `json:"position,omitempty"`
	Attempts    int           `json:"attempts"`
	RedriveUUID *uuid.UUID    `json:"redrive_uuid,omitempty" doc:"Redrive after which it came back."`
	// Payload and PayloadBase64 are what died, where it differs from what was sent.
	Payload       json.RawMessage `json:"payload,omitempty" doc:"What died, where it differs from what was sent."`
	PayloadBase64 []byte          `json:"payload_base64,omitempty" doc:"The same, if it is not JSON."`
}

// LetterStory is a letter with its history.
type LetterStory struct {
	Letter
	History []Occurrence `json:"history" doc:"Its latest occurrences, the latest first."`
	Group   *Group       `json:"group,omitempty"`
}

// LetterFilter selects letters. Zero fields do not restrict.
type LetterFilter struct {
	Selection
	Limit  int    // Defaults to 50; at most 1,000.
	Cursor string // next_cursor of the previous page
}

// LetterPage is a page of letters. A page may be shorter than its limit, or empty, and have a next one all the same: a
// search in texts reads a bounded number of letters at a time.
type LetterPage struct {
	// Letters lack what may be large: payloads above 1 KiB, headers, edited contents and stack traces.
	Letters    []Letter `json:"letters" doc:"Without payloads above 1 KiB, headers, edited contents and stack traces, which a letter by its UUID has."`
	NextCursor string   `json:"next_cursor,omitempty" doc:"Start of the next page; missing at the end. A page may be short, or empty, and have a next one."`
}

// LetterEdit changes what is sent in place of a letter's original.
type LetterEdit struct {
	Edit
	Clear bool `json:"clear,omitempty" doc:"Drop the edited form, so that the original is sent. Excludes the other fields of the edit."`
	Act
}

// Edit changes content before it is sent.
type Edit struct {
	Patch       json.RawMessage `json:"patch,omitempty" doc:"JSON Patch (RFC 6902, an array) or JSON merge patch (RFC 7396, an object) of the payload; of a case, of the context of its task."`
	SetHeaders  []Header        `json:"set_headers,omitempty" doc:"Replaces the headers of these names." maxItems:"100"`
	DropHeaders []string        `json:"drop_headers,omitempty" doc:"Removes the headers of these names." maxItems:"100"`
	Key         string          `json:"key,omitempty" doc:"Replaces the key." maxLength:"4096"`
	KeyBase64   []byte          `json:"key_base64,omitempty" doc:"Replaces the key by one that is not text."`
}

// StateExplanation tells in sentences how a letter or a redrive came to its state, and what changes it. The sentences
// are for people, and change between versions.
type StateExplanation struct {
	LetterUUID  *uuid.UUID `json:"letter_uuid,omitempty" doc:"The letter that is explained."`
	RedriveUUID *uuid.UUID `json:"redrive_uuid,omitempty" doc:"The redrive that is explained."`
	State       string     `json:"state"`
	Summary     string     `json:"summary" doc:"One sentence."`
	Why         []string   `json:"why,omitempty" doc:"Sentences about what led to it."`
	Next        string     `json:"next,omitempty" doc:"What would change the state, automatically or by an operator."`
}
