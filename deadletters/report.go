package deadletters

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

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

// NewReport returns the report of a message that was taken from origin and failed with err. Its type is the Go type of
// the innermost error.
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
