package letters

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// reader converts requests and collects faults, so that a request with three faults is refused once with three details.
// The zero value is ready; use one per request, convert everything, then call err.
type reader struct{ problems []tasker.Detail }

func (r *reader) bad(at, fault string) {
	if fault != "" {
		r.problems = append(r.problems, tasker.Detail{Location: at, Message: fault})
	}
}

// inQuery moves the places of a selection from the body to the query of a list, where groups are "group_id".
func (r *reader) inQuery() {
	for i, p := range r.problems {
		if at, ok := strings.CutPrefix(p.Location, "/"); ok {
			name, _, _ := strings.Cut(at, "/")
			if name == "groups" {
				name = "group_id"
			}
			r.problems[i].Location = "query." + name
		}
	}
}

func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &tasker.Error{Code: tasker.CodeInvalid, Message: "the request cannot be read; nothing was changed",
		Details: r.problems}
}

// text notes characters that break logs and terminals. The inbox checks the length.
func (r *reader) text(at, s string) string {
	r.bad(at, task.CharacterFault(s, false))
	return s
}

func (r *reader) filterTime(at string, t time.Time) task.Instant {
	if t.IsZero() {
		return 0
	}
	r.bad(at, task.TimeFault(t))
	return task.FromTime(t)
}

func (r *reader) optionalTime(at string, t *time.Time) task.Instant {
	if t == nil {
		return 0
	}
	r.bad(at, task.TimeFault(*t))
	return task.FromTime(*t)
}

// maxSeconds, 100 years, is within the range of time.Duration. The rules of each field are far below.
const maxSeconds = 100 * 365 * 24 * 60 * 60

// seconds accepts 0 to maxSeconds, with fractions down to a nanosecond.
func (r *reader) seconds(at string, s float64) time.Duration {
	if math.IsNaN(s) || s < 0 || s > maxSeconds {
		r.bad(at, "must be 0 to "+strconv.Itoa(maxSeconds)+" seconds")
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

func (r *reader) group(at, id string) deadletter.GroupID {
	g, err := deadletter.ParseGroupID(id)
	if err != nil {
		r.bad(at, err.Error())
	}
	return g
}

func (r *reader) groups(at string, ids []string) []deadletter.GroupID {
	var out []deadletter.GroupID
	for i, id := range ids {
		out = append(out, r.group(at+"/"+strconv.Itoa(i), id))
	}
	return out
}

func (r *reader) cursor(s string) task.ID {
	id, err := task.ParseID(s)
	if s != "" && err != nil {
		r.bad("query.cursor", "must be next_cursor of the previous page")
	}
	return id
}

func (r *reader) number(s string) int {
	n, err := strconv.ParseInt(s, 10, 32)
	if s != "" && (err != nil || n < 0) {
		r.bad("query.cursor", "must be next_cursor of the previous page")
	}
	return int(n)
}

func (r *reader) by(a deadletters.Act) inbox.By {
	version, fault := task.MatchOne(a.IfMatch)
	r.bad("/if_match", fault)
	return inbox.By{Actor: a.Actor, Reason: a.Reason, Version: version}
}

func readID(id uuid.UUID) task.ID { return task.ID(id) }

func shownID(id task.ID) uuid.UUID { return uuid.UUID(id) }

const defaultNamespace = "default"

func (r *reader) timeOfDay(at, s string) time.Duration {
	t, err := deadletter.ParseTimeOfDay(s)
	if err != nil {
		r.bad(at, err.Error())
	}
	return t
}

const bothForms = "must be given as text or in base64, not both"

// content converts a message. A payload is JSON, byte for byte, or anything in base64. JSON null is a missing payload,
// since many clients write null for an unset field; "null" in base64 means null.
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

func (r *reader) key(at, text string, binary []byte) []byte {
	if text == "" {
		return binary
	}
	if len(binary) > 0 {
		r.bad(at+"/key_base64", bothForms)
	}
	return []byte(text)
}

func (r *reader) headers(at string, list []deadletters.Header) []deadletter.Header {
	var out []deadletter.Header
	for i := range list {
		h := &list[i]
		place := at + "/" + strconv.Itoa(i)
		if h.Name == "" {
			r.bad(place+"/name", "must not be empty")
		}
		r.text(place+"/name", h.Name)
		if h.Value != "" && len(h.ValueBase64) > 0 {
			r.bad(place+"/value_base64", bothForms)
		}
		out = append(out, deadletter.Header{Name: h.Name, Value: h.Bytes()})
	}
	return out
}

func (r *reader) edit(at string, e *deadletters.Edit) deadletter.Edit {
	out := deadletter.Edit{Patch: e.Patch, SetHeaders: r.headers(at+"/set_headers", e.SetHeaders),
		DropHeaders: e.DropHeaders, Key: r.key(at, e.Key, e.KeyBase64)}
	if string(e.Patch) == "null" { // in a body, null means a missing value
		out.Patch = nil
	}
	for i, name := range e.DropHeaders {
		r.text(at+"/drop_headers/"+strconv.Itoa(i), name)
	}
	return out
}

// report: Retryable defaults to true; the inbox replaces a missing time of failure by now. Message and stack may have
// any characters: they are evidence and are cleaned when shown.
func (r *reader) report(at string, in *deadletters.Report) seam.Report {
	f := &in.Failure
	out := seam.Report{MessageID: in.MessageID, Origin: in.Origin, Handler: in.Handler,
		Content: r.content(at, &in.Content),
		Failure: failure.Report{Type: r.text(at+"/failure/error_type", f.Type), Code: r.text(at+"/failure/code", f.Code),
			Message: f.Message, Class: failure.Class(f.Class), Retryable: f.Retryable == nil || *f.Retryable},
		Stack: f.Stack, Attempts: in.Attempts, FailedAt: r.filterTime(at+"/failed_at", in.FailedAt)}
	if in.LetterUUID != nil {
		out.Letter = task.ID(*in.LetterUUID)
	}
	return out
}

// reports converts a batch. The key of a batch identifies, together with place and content, its reports without an
// identifier: the batch can be sent again, and a key that a program reuses by mistake hides no messages.
func (r *reader) reports(req *deadletters.ReportRequest) []seam.Report {
	out := make([]seam.Report, len(req.Reports))
	for i := range req.Reports {
		out[i] = r.report("/reports/"+strconv.Itoa(i), &req.Reports[i])
		if req.IdempotencyKey != "" && out[i].MessageID == "" {
			content := deadletter.Identify("", "", out[i].Content)
			out[i].MessageID = fmt.Sprintf("%s/%d/%s", req.IdempotencyKey, i, content[1:9])
		}
	}
	return out
}
