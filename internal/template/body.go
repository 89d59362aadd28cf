package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// body is a template as a store keeps it. Every field but the required ones is
// left out when empty: a field added later must not change what old templates
// look like, nor their fingerprints.
type body struct {
	Namespace   string          `json:"namespace_name"`
	Name        string          `json:"name"`
	Version     string          `json:"version,omitempty"`
	Adhoc       bool            `json:"adhoc,omitempty"`
	Description string          `json:"description,omitempty"`
	Priority    *int            `json:"priority,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	Lifecycle   *lifecycle      `json:"lifecycle,omitempty"`
	Steps       []step          `json:"steps"`
	Source      string          `json:"source,omitempty"`
	Fingerprint string          `json:"fingerprint,omitempty"`
	CreatedAt   *time.Time      `json:"created_at,omitempty"`
}

// lifecycle is task.Lifecycle in JSON; durations are nanoseconds.
type lifecycle struct {
	MaxWaitingForDependencies time.Duration `json:"max_waiting_for_dependencies,omitempty"`
	MaxWaitingForRetry        time.Duration `json:"max_waiting_for_retry,omitempty"`
	MaxStepsInProcess         time.Duration `json:"max_steps_in_process,omitempty"`
	MaxDuration               time.Duration `json:"max_duration,omitempty"`
}

// step is task.StepSpec in JSON, without the links, which follow from the
// dependencies.
type step struct {
	Name           string          `json:"name"`
	Description    string          `json:"description,omitempty"`
	Handler        string          `json:"handler"`
	Initialization json.RawMessage `json:"initialization,omitempty"`
	Dependencies   []string        `json:"dependencies,omitempty"`
	Retry          retry           `json:"retry"`
	Timeout        time.Duration   `json:"timeout,omitempty"`
	Capabilities   []string        `json:"required_capabilities,omitempty"`
	Priority       *int            `json:"priority,omitempty"`
}

// retry is task.Retry in JSON.
type retry struct {
	Retryable   bool          `json:"retryable"`
	MaxAttempts int           `json:"max_attempts,omitempty"`
	Backoff     task.Backoff  `json:"backoff,omitempty"`
	Base        time.Duration `json:"base,omitempty"`
	Max         time.Duration `json:"max,omitempty"`
	Jitter      float64       `json:"jitter,omitempty"`
}

// MarshalBody encodes a template for a store: all of it but DefID, which is the
// store's. Equal templates have equal bytes.
func MarshalBody(t *task.Template) ([]byte, error) {
	b := bodyOf(t)
	b.Source, b.Fingerprint = t.Source, t.Fingerprint
	if !t.CreatedAt.IsZero() {
		at := t.CreatedAt.UTC()
		b.CreatedAt = &at
	}
	out, err := encode(b)
	if err != nil {
		return nil, fmt.Errorf("encode template %s: %w", t.Name, err)
	}
	return out, nil
}

// UnmarshalBody reverses MarshalBody. The template is linked; DefID is 0 and
// CreatedAt in UTC.
func UnmarshalBody(src []byte) (*task.Template, error) {
	var b body
	d := json.NewDecoder(bytes.NewReader(src))
	// A field that this version does not know would be lost with the next write.
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return nil, fmt.Errorf("decode template: %w", err)
	}
	t := &task.Template{
		Namespace: b.Namespace, Name: b.Name, Version: b.Version, Adhoc: b.Adhoc, Description: b.Description,
		Priority: b.Priority, InputSchema: b.InputSchema, Source: b.Source, Fingerprint: b.Fingerprint,
	}
	if b.Lifecycle != nil {
		t.Lifecycle = task.Lifecycle(*b.Lifecycle)
	}
	if b.CreatedAt != nil {
		t.CreatedAt = b.CreatedAt.UTC()
	}
	for _, s := range b.Steps {
		t.Steps = append(t.Steps, task.StepSpec{
			Name: s.Name, Description: s.Description, Handler: s.Handler, Initialization: s.Initialization,
			Dependencies: s.Dependencies, Retry: task.Retry(s.Retry), Timeout: s.Timeout, Capabilities: s.Capabilities, Priority: s.Priority,
		})
	}
	if faults := t.Link(); len(faults) > 0 {
		return nil, fmt.Errorf("decode template %s: %s", t.Name, faults[0].Message)
	}
	return t, nil
}

// bodyOf converts what a template means; the source and the times are the
// caller's.
func bodyOf(t *task.Template) body {
	b := body{
		Namespace: t.Namespace, Name: t.Name, Version: t.Version, Adhoc: t.Adhoc, Description: t.Description,
		Priority: t.Priority, InputSchema: t.InputSchema, Steps: make([]step, 0, len(t.Steps)),
	}
	if t.Lifecycle != (task.Lifecycle{}) {
		l := lifecycle(t.Lifecycle)
		b.Lifecycle = &l
	}
	for _, s := range t.Steps {
		b.Steps = append(b.Steps, step{
			Name: s.Name, Description: s.Description, Handler: s.Handler, Initialization: s.Initialization,
			Dependencies: s.Dependencies, Retry: retry(s.Retry), Timeout: s.Timeout, Capabilities: s.Capabilities, Priority: s.Priority,
		})
	}
	return b
}
