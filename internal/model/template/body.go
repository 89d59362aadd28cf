package template

import (
	"encoding/json"
	"time"

	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// body is the meaning of a template, as its fingerprint covers it. Empty optional fields are omitted, so that new
// fields keep the fingerprints of old templates. Field names are part of every stored fingerprint and must not
// change.
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
	DispatchTTL time.Duration   `json:"dispatch_ttl,omitempty"`
	Sensitive   []string        `json:"sensitive,omitempty"`
	Concurrency *limit.Spec     `json:"concurrency,omitempty"`
	RateLimit   *limit.Spec     `json:"rate_limit,omitempty"`
	Unique      *task.Unique    `json:"unique,omitempty"`
}

// lifecycle is task.Lifecycle in JSON; durations are in nanoseconds.
type lifecycle struct {
	MaxWaitingForDependencies time.Duration `json:"max_waiting_for_dependencies,omitempty"`
	MaxWaitingForRetry        time.Duration `json:"max_waiting_for_retry,omitempty"`
	MaxStepsInProcess         time.Duration `json:"max_steps_in_process,omitempty"`
	MaxDuration               time.Duration `json:"max_duration,omitempty"`
}

// step is task.StepSpec in JSON without the links, which follow from the dependencies.
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
	DispatchTTL    time.Duration   `json:"dispatch_ttl,omitempty"`
	Concurrency    *limit.Spec     `json:"concurrency,omitempty"`
	RateLimit      *limit.Spec     `json:"rate_limit,omitempty"`
	When           string          `json:"when,omitempty"`
	Wait           *task.Wait      `json:"wait,omitempty"`
	OnFailure      bool            `json:"on_failure,omitempty"`
	Tasks          *task.ChildSpec `json:"tasks,omitempty"`
}

// retry is task.Retry in JSON. The order of its fields is the same, so that one converts to the other.
type retry struct {
	Retryable   bool          `json:"retryable"`
	MaxAttempts int           `json:"max_attempts,omitempty"`
	Backoff     task.Backoff  `json:"backoff,omitempty"`
	Base        time.Duration `json:"base,omitempty"`
	Max         time.Duration `json:"max,omitempty"`
	Jitter      float64       `json:"jitter,omitempty"`

	Limits task.ClassLimits `json:"limits,omitzero"`
	// An explicit default has the same meaning as none.
	BaseSaid   bool `json:"-"`
	JitterSaid bool `json:"-"`
}

// bodyOf shares the slices of the template and must not change them.
func bodyOf(t *task.Template) body {
	b := body{
		Namespace: t.Namespace, Name: t.Name, Version: t.Version, Adhoc: t.Adhoc, Description: t.Description,
		Priority: t.Priority, InputSchema: t.InputSchema, Steps: make([]step, 0, len(t.Steps)), DispatchTTL: t.DispatchTTL,
		Sensitive: t.Sensitive, Concurrency: t.Concurrency, RateLimit: t.RateLimit, Unique: t.Unique,
	}
	if t.Lifecycle != (task.Lifecycle{}) {
		l := lifecycle(t.Lifecycle)
		b.Lifecycle = &l
	}
	for _, s := range t.Steps {
		b.Steps = append(b.Steps, step{
			Name: s.Name, Description: s.Description, Handler: s.Handler, Initialization: s.Initialization,
			Dependencies: s.Dependencies, Retry: retry(s.Retry), Timeout: s.Timeout, Capabilities: s.Capabilities,
			Priority: s.Priority, DispatchTTL: s.DispatchTTL, Concurrency: s.Concurrency, RateLimit: s.RateLimit,
			When: s.When, Wait: s.Wait, OnFailure: s.OnFailure, Tasks: s.Tasks,
		})
	}
	return b
}
