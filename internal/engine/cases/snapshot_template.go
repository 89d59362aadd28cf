package cases

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

type shownTemplate struct {
	Namespace   string          `json:"namespace_name"`
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description,omitempty"`
	Lifecycle   shownLifecycle  `json:"lifecycle"`
	Steps       []shownSpec     `json:"steps"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	DispatchTTL int64           `json:"dispatch_ttl_ms,omitempty"`
}

// Minutes; 0 means the configured default.
type shownLifecycle struct {
	MaxWaitingForDependencies int `json:"max_waiting_for_dependencies_minutes,omitempty"`
	MaxWaitingForRetry        int `json:"max_waiting_for_retry_minutes,omitempty"`
	MaxStepsInProcess         int `json:"max_steps_in_process_minutes,omitempty"`
	MaxDuration               int `json:"max_duration_minutes,omitempty"`
}

type shownSpec struct {
	Name                 string          `json:"name"`
	Handler              string          `json:"handler"`
	Initialization       json.RawMessage `json:"initialization,omitempty"`
	Dependencies         []string        `json:"dependencies,omitempty"`
	Retry                shownRetry      `json:"retry"`
	TimeoutSeconds       int             `json:"timeout_seconds"`
	RequiredCapabilities []string        `json:"required_capabilities,omitempty"`
	DispatchTTL          int64           `json:"dispatch_ttl_ms,omitempty"`
	When                 string          `json:"when,omitempty"`
	OnFailure            bool            `json:"on_failure,omitempty"`
	Task                 *shownChild     `json:"task,omitempty"`
	ForEach              *shownEach      `json:"for_each,omitempty"`
}

type shownChild struct {
	Template string `json:"template,omitempty"`
	Version  string `json:"version,omitempty"`
	Handler  string `json:"handler,omitempty"`
	Context  string `json:"context,omitempty"`
	OnError  string `json:"on_error"`
}

type shownEach struct {
	Items string `json:"items"`
	shownChild
	Concurrency int    `json:"concurrency"`
	MaxFailed   string `json:"max_failed"`
	Results     string `json:"results"`
}

func shownTasks(c *task.ChildSpec) (only *shownChild, each *shownEach) {
	if c == nil {
		return nil, nil
	}
	child := shownChild{Template: c.Template, Version: c.Version, Handler: c.Handler, Context: c.Context,
		OnError: c.OnError()}
	if c.Each() {
		return nil, &shownEach{Items: c.Items, shownChild: child, Concurrency: c.Width(), MaxFailed: c.MayFail(),
			Results: c.Results()}
	}
	return &child, nil
}

// With the names and units of a template document.
type shownRetry struct {
	Retryable     bool    `json:"retryable"`
	MaxAttempts   int     `json:"max_attempts"`
	Backoff       string  `json:"backoff"`
	BackoffBaseMS int     `json:"backoff_base_ms"`
	MaxBackoffMS  int     `json:"max_backoff_ms"`
	Jitter        float64 `json:"jitter"`

	Limits task.ClassLimits `json:"limits,omitzero"`
}

// template is empty for a handler's stand-in. It is encoded once per transaction.
func (c *snapshotter) template(t *task.Template) (json.RawMessage, error) {
	if t.Adhoc {
		return nil, nil
	}
	if doc, ok := c.templates[t.DefID]; ok {
		return doc, nil
	}
	whole := func(d time.Duration) int { return int(d / time.Minute) }
	l := t.Lifecycle
	out := shownTemplate{Namespace: t.Namespace, Name: t.Name, Version: t.Version, Description: t.Description,
		InputSchema: cutJSON(t.InputSchema, snapshotContext), DispatchTTL: t.DispatchTTL.Milliseconds(),
		Lifecycle: shownLifecycle{whole(l.MaxWaitingForDependencies), whole(l.MaxWaitingForRetry), whole(l.MaxStepsInProcess),
			whole(l.MaxDuration)}}
	for _, s := range t.Steps {
		r := s.Retry
		only, each := shownTasks(s.Tasks)
		out.Steps = append(out.Steps, shownSpec{Name: s.Name, Handler: s.Handler,
			Initialization: cutJSON(s.Initialization, snapshotText),
			Dependencies:   s.Dependencies, TimeoutSeconds: int(s.Timeout / time.Second), RequiredCapabilities: s.Capabilities,
			DispatchTTL: s.DispatchTTL.Milliseconds(), When: s.When, OnFailure: s.OnFailure, Task: only, ForEach: each,
			Retry: shownRetry{r.Retryable, r.MaxAttempts, string(r.Backoff), int(r.Base / time.Millisecond),
				int(r.Max / time.Millisecond), r.Jitter, r.Limits}})
	}
	doc, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode template %s: %w", t.Name, err)
	}
	c.templates[t.DefID] = doc
	return doc, nil
}
