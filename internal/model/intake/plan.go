package intake

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Message is a message of a broker.
type Message struct {
	Queue     string
	Position  string // identifies it on its broker, the same at every delivery; "" if the broker has none
	MessageID string // of the sender; "" for none
	SentAt    task.Instant
	deadletter.Content
}

// Task is the task that a message becomes.
type Task struct {
	TaskType, Template, Version string
	Priority                    string // "" takes the default
	Key                         string // idempotency key; "" if nothing identifies the message
	OrderingKey                 string // "" for any order
	CorrelationID               string
	Delay                       time.Duration
	Context                     []byte // JSON, unchecked; it may share the payload's bytes
	Origin                      *task.Intake
}

// Refusal says why a message becomes no task. Code is for programs.
type Refusal struct{ Code, Reason string }

// Error implements error.
func (r *Refusal) Error() string { return r.Reason }

// The codes of refusals by this package.
const (
	NoType   = "no_task_type" // the message names neither a type nor a template
	NoInput  = "no_input"     // it has no payload
	NotJSON  = "not_json"     // a setting reads its payload, which is not JSON
	BadValue = "bad_value"    // a value has the wrong form
)

// Plan is the parsed intake of a source. It is immutable.
type Plan struct {
	source    string
	sensitive []string // pointers into contexts
	in        deadletter.Intake

	taskType, template, priority, key, ordering, correlation, delay deadletter.Value
}

// NewPlan returns the plan of a source that is valid and has an intake.
func NewPlan(s *deadletter.Source) *Plan {
	p := &Plan{source: s.Name, in: *s.Intake}
	if len(s.Sensitive)+len(s.SensitiveHeaders) > 0 {
		p.sensitive = sensitive.Rule{Pointers: s.Sensitive, Headers: s.SensitiveHeaders}.InTask()
	}
	for of, text := range map[*deadletter.Value]string{&p.taskType: p.in.TaskType, &p.template: p.in.Template,
		&p.priority: p.in.Priority, &p.key: p.in.IdempotencyKey, &p.ordering: p.in.OrderingKey,
		&p.correlation: p.in.CorrelationID, &p.delay: p.in.Delay} {
		*of, _ = deadletter.ParseValue(text) // a stored source is valid
	}
	return p
}

// Task returns the task that a message becomes, or a *Refusal.
func (p *Plan) Task(m *Message) (*Task, error) {
	l := &lookup{m: m}
	t := &Task{Version: p.in.TemplateVersion, TaskType: l.text("task_type", p.taskType),
		Template: l.text("template", p.template), Priority: l.text("priority", p.priority),
		Key: l.text("idempotency_key", p.key), CorrelationID: l.text("correlation_id", p.correlation),
		Delay: l.delay(p.delay)}
	if l.err == nil && t.TaskType == "" && t.Template == "" {
		l.refuse(NoType, "the message names no %s: there is nothing at %s", p.named(), p.in.TaskType+p.in.Template)
	}
	t.OrderingKey = p.orderingKey(l)
	if l.err != nil {
		return nil, l.err
	}
	wrapped := p.in.Input == deadletter.InputMessage
	switch {
	case wrapped:
		t.Context = envelope(m)
	case len(m.Payload) == 0:
		return nil, &Refusal{NoInput, "the message has no payload; set input to message if headers are enough"}
	default:
		t.Context = m.Payload
	}
	t.Origin = &task.Intake{Source: p.source, Queue: text(m.Queue), Position: position(m), SentAt: m.SentAt,
		Wrapped: wrapped, Sensitive: p.sensitive}
	if t.Key == "" {
		t.Key = p.identity(m)
	}
	return t, nil
}

func (p *Plan) named() string {
	if p.in.Template != "" {
		return "template"
	}
	return "task type"
}

// identity returns a key for a message without one: from its place on the broker, else from the sender's identifier
// and the payload, because messages may share an identifier. Otherwise there is no key: an extra task is better
// than a lost one.
func (p *Plan) identity(m *Message) string {
	parts := []string{p.source, m.Queue, "p", m.Position}
	if m.Position == "" {
		parts = []string{p.source, m.Queue, "m", m.MessageID, string(m.Content.Payload)}
	}
	if m.Position+m.MessageID == "" {
		return ""
	}
	return "intake:" + hash(parts...)
}

func hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// hashedKey begins an ordering key that is a hash.
const hashedKey = "sha256"

// orderingKey begins with the source, because keys of two topics are unrelated. A key that cannot be stored as text
// is hashed.
func (p *Plan) orderingKey(l *lookup) string {
	key := string(l.m.Key)
	if p.ordering != (deadletter.Value{From: deadletter.FromMessage, Text: "key"}) {
		key = l.text("ordering_key", p.ordering)
	}
	if key == "" {
		return ""
	}
	// The first slash ends the source. A source that has a slash, or looks like the hash, is hashed with the key.
	if of := p.source + "/" + key; !strings.Contains(p.source, "/") && p.source != hashedKey &&
		task.TextFault(of, task.MaxName) == "" {
		return of
	}
	return hashedKey + "/" + hash(p.source, key)
}

const maxPosition = 512

func position(m *Message) string {
	if m.Position == "" || task.TextFault(m.Position, maxPosition) == "" {
		return m.Position
	}
	return deadletter.Identify(m.Position, "", deadletter.Content{})
}

func text(s string) string {
	if task.TextFault(s, task.MaxName) == "" {
		return s
	}
	return strconv.QuoteToASCII(s[:min(len(s), task.MaxName/4)])
}

// lookup reads the values of one message and stops at the first fault.
type lookup struct {
	m      *Message
	isJSON bool // its payload was checked
	err    error
}

func (l *lookup) refuse(code, format string, args ...any) {
	if l.err == nil {
		l.err = &Refusal{code, fmt.Sprintf(format, args...)}
	}
}

func (l *lookup) text(what string, v deadletter.Value) string {
	if l.err != nil {
		return ""
	}
	switch v.From {
	case deadletter.FromText:
		return v.Text
	case deadletter.FromHeader:
		for _, h := range l.m.Headers {
			if h.Name == v.Text {
				return l.valid(what, h.Value)
			}
		}
	case deadletter.FromMessage:
		switch v.Text {
		case "id":
			return l.m.MessageID
		case "queue":
			return l.m.Queue
		case "key":
			return l.valid(what, l.m.Key)
		}
	case deadletter.FromPayload:
		return l.scalar(v.Text)
	}
	return ""
}

// scalar returns the text of a string, number or boolean at a JSON pointer in the payload; "" for nothing and null.
func (l *lookup) scalar(at string) string {
	doc := l.m.Payload
	if l.isJSON = l.isJSON || len(doc) > 0 && task.JSONFault(doc, len(doc)) == ""; !l.isJSON {
		l.refuse(NotJSON, "the payload of the message is not JSON, and values are looked up in it")
		return ""
	}
	value := deadletter.ValueAt(doc, at)
	switch {
	case len(value) == 0 || string(value) == "null":
		return ""
	case value[0] == '{' || value[0] == '[':
		l.refuse(BadValue, "the value at %s of the payload is an object or a list: a text or a number is needed", at)
		return ""
	case value[0] == '"':
		var s string
		_ = json.Unmarshal(value, &s)
		return s
	}
	return string(value)
}

func (l *lookup) valid(what string, b []byte) string {
	if !utf8.Valid(b) {
		l.refuse(BadValue, "the %s in the message is not UTF-8", what)
		return ""
	}
	return string(b)
}

func (l *lookup) delay(v deadletter.Value) time.Duration {
	s := l.text("delay", v)
	if s == "" {
		return 0
	}
	if v.From == deadletter.FromText {
		d, _ := time.ParseDuration(s) // a stored source is valid
		return d
	}
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil || !(0 <= seconds && seconds <= deadletter.MaxDelay.Seconds()) {
		l.refuse(BadValue, "the delay in the message must be a number of seconds from 0 to %d",
			int(deadletter.MaxDelay.Seconds()))
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}
