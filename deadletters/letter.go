package deadletters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
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

	LinkedUUID *uuid.UUID `json:"linked_uuid,omitempty" doc:"Letter that it resembles."`
	LinkedBy   string     `json:"linked_by,omitempty" enum:"copied_header,same_id,same_content" doc:"Why: it carries the headers of a send of that letter and is another message; it has the same message ID; or it was sent as that letter without a confirmation, while an equal message died."`

	FirstAt    time.Time `json:"first_at" doc:"When it died first, as its message says."`
	LastAt     time.Time `json:"last_at" doc:"When it died last, as its message says."`
	CapturedAt time.Time `json:"captured_at"`

	Original       Content  `json:"original"`
	PayloadOmitted bool     `json:"payload_omitted,omitempty" doc:"The payload is above 1 KiB and was left out of the list: the letter by its UUID has it."`
	Edited         *Content `json:"edited,omitempty" doc:"What is sent instead of the original."`
	SizeBytes      int      `json:"size_bytes" doc:"Size of the payload. Of a letter that is cut: before that."`
	Cut            bool     `json:"cut,omitempty" doc:"An early version has kept only the beginning of the payload: the letter can be neither edited nor sent back."`
	Undecoded      string   `json:"undecoded,omitempty" doc:"Why the message could not be decoded."`

	ETag string `json:"etag,omitempty" doc:"Changes with every change of the letter. An act with If-Match is refused if it has changed."`
}

// Occurrence is one time that a letter died.
type Occurrence struct {
	No            int             `json:"no"`
	At            time.Time       `json:"at"`
	GroupID       string          `json:"group_id"`
	Failure       LetterFailure   `json:"failure"`
	Handler       string          `json:"handler,omitempty"`
	Origin        string          `json:"origin,omitempty"`
	Position      string          `json:"position,omitempty"`
	Attempts      int             `json:"attempts"`
	RedriveUUID   *uuid.UUID      `json:"redrive_uuid,omitempty" doc:"Redrive after which it came back."`
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

// LetterPage is a page of letters. It may be short or empty and still have a next one: a search in texts reads a
// bounded number of letters at a time.
type LetterPage struct {
	Letters    []Letter `json:"letters" doc:"Without payloads above 1 KiB, headers, edited contents and stack traces, which a letter by its UUID has."`
	NextCursor string   `json:"next_cursor,omitempty" doc:"Start of the next page; missing at the end. A page may be short, or empty, and have a next one."`
}

// LetterEdit changes what is sent instead of a letter's original.
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

// StateExplanation explains in sentences how a letter or a redrive came to its state, and its possible changes. The
// sentences are for people, and change between versions.
type StateExplanation struct {
	LetterUUID  *uuid.UUID `json:"letter_uuid,omitempty" doc:"The letter that is explained."`
	RedriveUUID *uuid.UUID `json:"redrive_uuid,omitempty" doc:"The redrive that is explained."`
	State       string     `json:"state"`
	Summary     string     `json:"summary" doc:"One sentence."`
	Why         []string   `json:"why,omitempty" doc:"Sentences about what led to it."`
	Next        string     `json:"next,omitempty" doc:"What would change the state, automatically or by an operator."`
}

// Content is a message. Key, payload and values of headers are bytes; JSON shows text as text, and other bytes in
// base64. Only one of the two forms is set.
type Content struct {
	Key           string          `json:"key,omitempty" doc:"Key of the message, if it is text."`
	KeyBase64     []byte          `json:"key_base64,omitempty" doc:"Key of the message, if it is not text."`
	Headers       []Header        `json:"headers,omitempty" doc:"In order; a name may repeat." maxItems:"256"`
	Payload       json.RawMessage `json:"payload,omitempty" doc:"Payload, if it is JSON in UTF-8. White space may differ from that of the message."`
	PayloadBase64 []byte          `json:"payload_base64,omitempty" doc:"Payload, if it is not JSON."`
}

// Header is one header of a message.
type Header struct {
	Name        string `json:"name" minLength:"1" maxLength:"255"`
	Value       string `json:"value,omitempty" doc:"Value, if it is text."`
	ValueBase64 []byte `json:"value_base64,omitempty" doc:"Value, if it is not text."`
}

// maxDepth is the deepest payload that is shown as JSON: parsers in other languages stop at about a thousand levels,
// and could not read an answer with a deeper payload at all.
const maxDepth = 500

// SetPayload sets the payload.
func (c *Content) SetPayload(payload []byte) {
	c.Payload, c.PayloadBase64 = nil, nil
	switch {
	case len(payload) == 0:
	case showsAsJSON(payload):
		c.Payload = payload
	default:
		c.PayloadBase64 = payload
	}
}

// PayloadBytes returns the payload.
func (c *Content) PayloadBytes() []byte {
	if len(c.Payload) > 0 {
		return c.Payload
	}
	return c.PayloadBase64
}

// SetKey sets the key.
func (c *Content) SetKey(key []byte) { c.Key, c.KeyBase64 = split(key) }

// KeyBytes returns the key, nil for none.
func (c *Content) KeyBytes() []byte { return joined(c.Key, c.KeyBase64) }

// NewHeader returns a header.
func NewHeader(name string, value []byte) Header {
	h := Header{Name: name}
	h.Value, h.ValueBase64 = split(value)
	return h
}

// Bytes returns the value.
func (h *Header) Bytes() []byte { return joined(h.Value, h.ValueBase64) }

func split(b []byte) (text string, binary []byte) {
	if utf8.Valid(b) {
		return string(b), nil
	}
	return "", b
}

func joined(text string, binary []byte) []byte {
	if text != "" {
		return []byte(text)
	}
	return binary
}

// showsAsJSON reports whether a payload can be a JSON member. null cannot: in this API it is a missing value.
func showsAsJSON(payload []byte) bool {
	if !utf8.Valid(payload) || !json.Valid(payload) || string(bytes.TrimSpace(payload)) == "null" {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(payload); i++ {
		switch c := payload[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			if depth++; depth > maxDepth {
				return false
			}
		case c == ']', c == '}':
			depth--
		}
	}
	return true
}

// ReportRequest is a batch of failures that a program reports. It is stored whole or not at all.
type ReportRequest struct {
	Namespace      string   `json:"namespace,omitempty" doc:"Defaults to default." maxLength:"255"`
	Source         string   `json:"source" doc:"Name of the source. It is added, with the driver http, if it does not exist." minLength:"1" maxLength:"255"`
	IdempotencyKey string   `json:"idempotency_key,omitempty" doc:"Identifies the batch: a report without a message_id is identified by the key, its place and its content, so that the batch can be sent again." maxLength:"200"`
	Reports        []Report `json:"reports" minItems:"1" maxItems:"1000"`
}

// Report is one message that could not be processed.
type Report struct {
	MessageID  string        `json:"message_id,omitempty" doc:"Identifier of the message. A report of the source that is equal to an earlier one in everything, with the same identifier, changes nothing. Without it a report is always a new letter, unless the batch has an idempotency_key." maxLength:"255"`
	Origin     string        `json:"origin,omitempty" doc:"Queue or topic that the message was taken from; a redrive sends it there." maxLength:"255"`
	Handler    string        `json:"handler,omitempty" doc:"Consumer that failed." maxLength:"255"`
	Failure    LetterFailure `json:"failure"`
	Attempts   int           `json:"attempts,omitempty" doc:"Attempts of the consumer." minimum:"0" maximum:"1000000"`
	FailedAt   time.Time     `json:"failed_at,omitzero" doc:"Time of the failure. Defaults to now."`
	LetterUUID *uuid.UUID    `json:"letter_uuid,omitempty" doc:"Value of the header tasker-letter, if the message has been sent back before. The letter opens again if the content is what was sent; else the report is a new letter with a link."`
	Content
}

// LetterFailure is why a consumer could not process a message.
type LetterFailure struct {
	Type      string              `json:"error_type,omitempty" doc:"Class of the error." maxLength:"255"`
	Code      string              `json:"code,omitempty" doc:"The application's own code." maxLength:"255"`
	Message   string              `json:"message" doc:"Truncated to 4 KiB."`
	Stack     string              `json:"stack_trace,omitempty" doc:"Truncated to 16 KiB. Missing in a list."`
	Class     tasker.FailureClass `json:"class,omitempty" enum:"transient,resource,logic,worker" doc:"Class of the failure."`
	Retryable *bool               `json:"retryable,omitempty" doc:"False if a retry cannot help. Defaults to true."`
}

// Receipt is the answer to one report.
type Receipt struct {
	LetterUUID uuid.UUID     `json:"letter_uuid"`
	GroupID    string        `json:"group_id" doc:"Group of the failure: 16 hexadecimal digits."`
	Status     ReceiptStatus `json:"status" enum:"captured,duplicate,returned" doc:"captured: a new letter; duplicate: known already, nothing changed; returned: a letter that was sent back is open again."`
}

// NewReport returns the report of a message from origin that failed with err. Its type is the Go type of the innermost
// error.
func NewReport(origin string, payload []byte, err error) Report {
	r := Report{Origin: origin}
	r.SetPayload(payload)
	if err == nil {
		return r
	}
	r.Failure.Message = err.Error()
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		r.Failure.Type = strings.TrimPrefix(fmt.Sprintf("%T", inner), "*")
	}
	return r
}
