package deadletter

import (
	"fmt"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Intake turns a source's messages into tasks instead of letters. Its texts are values: see ParseValue.
type Intake struct {
	TaskType        string `json:"task_type,omitempty"`
	Template        string `json:"template,omitempty"`
	TemplateVersion string `json:"template_version,omitempty"` // a constant; "" is the newest
	// Priority is a level's name or number; "" in a message is the default. The constants MinPriority and MaxPriority
	// clamp it.
	Priority    string `json:"priority,omitempty"`
	MinPriority string `json:"min_priority,omitempty"`
	MaxPriority string `json:"max_priority,omitempty"`
	// IdempotencyKey makes one task of equal messages. The default is the identity on the broker.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	OrderingKey    string `json:"ordering_key,omitempty"`
	CorrelationID  string `json:"correlation_id,omitempty"`
	// Delay postpones the task: a constant duration such as 30s, or seconds in the message.
	Delay string      `json:"delay,omitempty"`
	Input IntakeInput `json:"input,omitempty"`
	// MaxRetries and Timeout need TaskType; nil and 0 take the defaults of the priority.
	MaxRetries *int          `json:"max_retries,omitempty"`
	Timeout    time.Duration `json:"timeout,omitempty"`
	Tags       []string      `json:"tags,omitempty"`
	// WriteFailures is a queue of the source's broker for a message about each task that fails permanently; "" is
	// none.
	WriteFailures string `json:"write_failures,omitempty"`
}

// IntakeInput selects the context of a task.
type IntakeInput string

// The inputs.
const (
	InputPayload IntakeInput = "payload"
	InputMessage IntakeInput = "message" // a JSON object with the payload, of any form, and the rest of the message
)

// IntakeInputs lists the inputs.
var IntakeInputs = []IntakeInput{InputPayload, InputMessage}

// The bounds of an intake.
const (
	MaxIntakeRetries = 1000
	MaxIntakeTimeout = task.MaxDelay
	MaxIntakeTags    = 32
	maxValue         = 1024
	maxValueParts    = 32
)

// ValueFrom is the origin of a value.
type ValueFrom string

// Where values come from.
const (
	FromNowhere ValueFrom = ""
	FromText    ValueFrom = "text"
	FromPayload ValueFrom = "payload"
	FromHeader  ValueFrom = "header"
	FromMessage ValueFrom = "message" // a field of the message: id, key or queue
)

// Value is a parsed value of an intake.
type Value struct {
	From ValueFrom
	Text string
}

// ParseValue reads a value: /... is a JSON pointer into the payload, header:NAME a header, and message:id,
// message:key and message:queue are fields of the message. Other texts are constants. fault is "" for none.
func ParseValue(s string) (v Value, fault string) {
	if fault := task.TextFault(s, maxValue); fault != "" {
		return Value{}, fault
	}
	if s == "" {
		return Value{}, ""
	}
	if strings.HasPrefix(s, "/") {
		if strings.Count(s, "/") > maxValueParts {
			return Value{}, fmt.Sprintf("is a JSON pointer of more than %d parts", maxValueParts)
		}
		if rest := strings.NewReplacer("~0", "", "~1", "").Replace(s); strings.Contains(rest, "~") {
			return Value{}, "is no JSON pointer: ~ stands before 0 or 1 only"
		}
		return Value{FromPayload, s}, ""
	}
	if name, ok := strings.CutPrefix(s, "header:"); ok {
		if name == "" {
			return Value{}, "must name a header, as in header:type"
		}
		return Value{FromHeader, name}, ""
	}
	if name, ok := strings.CutPrefix(s, "message:"); ok {
		if name != "id" && name != "key" && name != "queue" {
			return Value{}, "must be message:id, message:key or message:queue"
		}
		return Value{FromMessage, name}, ""
	}
	return Value{FromText, s}, ""
}

// Values returns the values that an intake reads from a message.
func (in *Intake) Values() []Value {
	if in == nil {
		return nil
	}
	var values []Value
	for _, text := range []string{in.TaskType, in.Template, in.Priority, in.IdempotencyKey, in.OrderingKey,
		in.CorrelationID, in.Delay} {
		v, _ := ParseValue(text)
		values = append(values, v)
	}
	return values
}

// validate checks neither that templates nor that priorities exist.
func (in *Intake) validate(s *Source, p *problems) {
	const at = "/intake"
	p.when(s.Format != "" && s.Format != "raw", "/format",
		"does not go with intake: what becomes a task is the message itself")
	p.when((in.TaskType == "") == (in.Template == ""), at+"/task_type", "give either task_type or template")
	p.value(at+"/task_type", in.TaskType, task.MaxName)
	p.value(at+"/template", in.Template, task.MaxName)
	p.text(at+"/template_version", in.TemplateVersion, task.MaxName)
	p.when(in.TemplateVersion != "" && in.Template == "", at+"/template_version", "goes with template only")
	p.value(at+"/priority", in.Priority, task.MaxName)
	p.text(at+"/min_priority", in.MinPriority, task.MaxName)
	p.text(at+"/max_priority", in.MaxPriority, task.MaxName)
	p.value(at+"/idempotency_key", in.IdempotencyKey, task.MaxName)
	if v, _ := ParseValue(in.IdempotencyKey); v.From == FromText || v == (Value{FromMessage, "queue"}) {
		p.add(at+"/idempotency_key", "must differ between messages: take it from the payload, a header, message:id or "+
			"message:key")
	}
	p.value(at+"/ordering_key", in.OrderingKey, task.MaxName)
	p.value(at+"/correlation_id", in.CorrelationID, task.MaxName)
	p.delay(at+"/delay", in.Delay)
	p.oneOf(at+"/input", string(in.Input), words(IntakeInputs)...)
	if in.MaxRetries != nil {
		p.between(at+"/max_retries", float64(*in.MaxRetries), 0, MaxIntakeRetries)
		p.when(in.Template != "", at+"/max_retries", "goes with task_type only: a template has its own")
	}
	p.between(at+"/timeout_seconds", in.Timeout.Seconds(), 0, MaxIntakeTimeout.Seconds())
	p.when(in.Timeout != 0 && in.Template != "", at+"/timeout_seconds", "goes with task_type only: a template has its own")
	p.names(at+"/tags", in.Tags, MaxIntakeTags)
	p.text(at+"/on_failure/write", in.WriteFailures, task.MaxName)
	p.when(in.WriteFailures != "" && in.WriteFailures == s.Queue, at+"/on_failure/write",
		"is the queue of the source: failures would become tasks again")
}

func (p *problems) value(at, s string, limit int) {
	v, fault := ParseValue(s)
	if fault == "" && v.From == FromText {
		fault = task.TextFault(v.Text, limit)
	}
	p.when(fault != "", at, fault)
}

func (p *problems) delay(at, s string) {
	v, fault := ParseValue(s)
	p.when(fault != "", at, fault)
	if v.From != FromText {
		return
	}
	d, err := time.ParseDuration(v.Text)
	if err != nil {
		p.add(at, "must be a duration such as 30s, or where the message has it in seconds, such as /delay")
		return
	}
	p.within(at, d, 0, MaxDelay)
}
