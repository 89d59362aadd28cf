package public

import (
	"fmt"
	"strconv"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// bothForms refuses a value in two forms, which may differ.
const bothForms = "must be given as text or in base64, not both"

// content converts a message. A payload is JSON, which is taken byte for byte, or anything in base64. JSON null is a
// missing payload, since many clients write null for a field that they do not set; send "null" in base64 to mean it.
func (r *reader) content(at string, c *deadletters.Content) deadletter.Content {
	if len(c.Payload) > 0 && len(c.PayloadBase64) > 0 && string(c.Payload) != "null" {
		r.bad(at+"/payload_base64", bothForms)
	}
	out := deadletter.Content{Key: r.key(at, c.Key, c.KeyBase64), Headers: r.headers(at+"/headers", c.Headers)}
	if out.Payload = c.PayloadBase64; len(c.Payload) > 0 && string(c.Payload) != "null" {
		out.Payload = c.Payload
	}
	return out
}

// key converts a key, text or binary; nil for none.
func (r *reader) key(at, text string, binary []byte) []byte {
	if text == "" {
		return binary
	}
	if len(binary) > 0 {
		r.bad(at+"/key_base64", bothForms)
	}
	return []byte(text)
}

// headers converts headers in their order. Names may repeat; values may be text or binary.
func (r *reader) headers(at string, list []deadletters.Header) []deadletter.Header {
	var out []deadletter.Header
	for i := range list {
		h := &list[i]
		place := at + "/" + strconv.Itoa(i)
		if h.Name == "" {
			r.bad(place+"/name", "must not be empty")
		}
		r.text(place+"/name", h.Name, false)
		if h.Value != "" && len(h.ValueBase64) > 0 {
			r.bad(place+"/value_base64", bothForms)
		}
		out = append(out, deadletter.Header{Name: h.Name, Value: h.Bytes()})
	}
	return out
}

// edit converts an edit. Whether it is valid and can be applied is decided by the inbox.
func (r *reader) edit(at string, e *deadletters.Edit) deadletter.Edit {
	out := deadletter.Edit{Patch: e.Patch, SetHeaders: r.headers(at+"/set_headers", e.SetHeaders),
		DropHeaders: e.DropHeaders, Key: r.key(at, e.Key, e.KeyBase64)}
	if string(e.Patch) == "null" { // in a body, null means a missing value
		out.Patch = nil
	}
	for i, name := range e.DropHeaders {
		r.text(at+"/drop_headers/"+strconv.Itoa(i), name, false)
	}
	return out
}

// report converts one report. Retryable defaults to true, and the time of failure to none, which the inbox replaces by
// now. Message and stack are not checked for characters: they are evidence and are cleaned where they are shown.
func (r *reader) report(at string, in *deadletters.Report) inbox.Report {
	f := &in.Failure
	out := inbox.Report{MessageID: in.MessageID, Origin: in.Origin, Handler: in.Handler,
		Content: r.content(at, &in.Content),
		Failure: failure.Report{Type: r.text(at+"/failure/error_type", f.Type, false),
			Code: r.text(at+"/failure/code", f.Code, false), Message: f.Message, Class: failure.Class(f.Class),
			Retryable: f.Retryable == nil || *f.Retryable},
		Stack: f.Stack, Attempts: in.Attempts, FailedAt: r.filterTime(at+"/failed_at", in.FailedAt)}
	if in.LetterUUID != nil {
		out.Letter = task.ID(*in.LetterUUID)
	}
	return out
}

// reports converts a batch. The key of a batch identifies the reports in it that have no identifier of their own,
// together with their place and content: the batch can be sent again, and a key that a program uses for another batch
// by mistake hides none of its messages.
func (r *reader) reports(req *deadletters.ReportRequest) []inbox.Report {
	out := make([]inbox.Report, len(req.Reports))
	for i := range req.Reports {
		out[i] = r.report("/reports/"+strconv.Itoa(i), &req.Reports[i])
		if req.IdempotencyKey != "" && out[i].MessageID == "" {
			content := deadletter.Identify("", "", out[i].Content)
			out[i].MessageID = fmt.Sprintf("%s/%d/%s", req.IdempotencyKey, i, content[1:9])
		}
	}
	return out
}
