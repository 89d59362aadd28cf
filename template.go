package tasker

import (
	"strings"
	"time"
)

// TemplateSource is a template in its author's notation.
type TemplateSource struct {
	YAML     string `json:"yaml" doc:"The template document; JSON is YAML."`
	Filename string `json:"filename,omitempty" doc:"File name for problems, reported as file:line:column." maxLength:"255"`
	// RegisteredBy and Reason are recorded in the audit trail when the version is new.
	RegisteredBy string `json:"registered_by,omitempty" doc:"Actor. Defaults to the name of the API key, else to anonymous." maxLength:"255"`
	Reason       string `json:"reason,omitempty" doc:"Reason for the act. Defaults to \"no reason given\"." maxLength:"4096"`
}

// Template is one registered version of a workflow. A version never changes: registering the same content again
// changes nothing, and other content is CodeConflict.
type Template struct {
	Namespace     string         `json:"namespace_name"`
	Name          string         `json:"name"`
	Version       string         `json:"version"`
	Description   string         `json:"description,omitempty"`
	Priority      Priority       `json:"priority,omitempty"`
	InputSchema   any            `json:"input_schema,omitempty" doc:"JSON Schema of a task's context."`
	Lifecycle     Lifecycle      `json:"lifecycle"`
	DispatchTTLMS int            `json:"dispatch_ttl_ms,omitempty" doc:"Milliseconds that a step may wait in the queue of a worker to which it was dispatched over AMQP, for steps that set no value."`
	Steps         []TemplateStep `json:"steps,omitempty"`
	Sensitive     []string       `json:"sensitive,omitempty" doc:"JSON pointers to values of a task's context that are masked for keys that may not see them; a segment * matches every member and element."`
	Concurrency   *StepLimit     `json:"concurrency,omitempty" doc:"Limit of the steps at once, for steps without one of their own."`
	RateLimit     *StepLimit     `json:"rate_limit,omitempty" doc:"Limit of the steps in a time, for steps without one of their own."`
	Unique        *Unique        `json:"unique,omitempty" doc:"Rule of uniqueness of tasks whose submission has none."`
	Fingerprint   string         `json:"fingerprint" doc:"SHA-256 of the canonical content."`
	CreatedAt     time.Time      `json:"created_at"`
	Created       bool           `json:"created" doc:"True in the response to the registration that stored the version."`
	YAML          string         `json:"yaml,omitempty" doc:"The registered source."`
	Damage        string         `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`
}

// Lifecycle bounds the minutes that a task of the template may stay in one state. 0 means the server's default; for
// MaxDuration, no bound.
type Lifecycle struct {
	MaxWaitingForDependencies int `json:"max_waiting_for_dependencies_minutes,omitempty" yaml:"max_waiting_for_dependencies_minutes"`
	MaxWaitingForRetry        int `json:"max_waiting_for_retry_minutes,omitempty" yaml:"max_waiting_for_retry_minutes"`
	MaxStepsInProcess         int `json:"max_steps_in_process_minutes,omitempty" yaml:"max_steps_in_process_minutes"`
	MaxDuration               int `json:"max_duration_minutes,omitempty" yaml:"max_duration_minutes"`
}

// TemplateStep is one step of a template.
type TemplateStep struct {
	Name                 string         `json:"name"`
	Description          string         `json:"description,omitempty"`
	Handler              string         `json:"handler" doc:"Empty for a step that no worker runs."`
	Wait                 *TemplateWait  `json:"wait,omitempty" doc:"What a step without a handler waits for."`
	OnFailure            bool           `json:"on_failure,omitempty" doc:"It runs only after the task has failed."`
	Task                 *TemplateChild `json:"task,omitempty" doc:"Task that carries out the step, as its child."`
	ForEach              *TemplateEach  `json:"for_each,omitempty" doc:"Tasks that carry out the step, one for each item of a list."`
	Initialization       map[string]any `json:"initialization,omitempty" doc:"Fixed configuration for the handler."`
	Dependencies         []string       `json:"dependencies,omitempty"`
	Retry                RetryPolicy    `json:"retry"`
	TimeoutSeconds       int            `json:"timeout_seconds" doc:"Time limit of an attempt. 0 if it is left to the priority of the task."`
	RequiredCapabilities []string       `json:"required_capabilities,omitempty"`
	Priority             Priority       `json:"priority,omitempty"`
	DispatchTTLMS        int            `json:"dispatch_ttl_ms,omitempty" doc:"Milliseconds that the step may wait in the queue of a worker to which it was dispatched over AMQP, if the step sets them."`
	Concurrency          *StepLimit     `json:"concurrency,omitempty" doc:"Limit of the steps at once, if the step sets one."`
	RateLimit            *StepLimit     `json:"rate_limit,omitempty" doc:"Limit of the steps in a time, if the step sets one."`
	When                 string         `json:"when,omitempty" doc:"Condition of the step, an expression over context and parents: if it does not hold, the step is skipped."`
}

// Runs describes for people how the step runs: its handler, its child tasks, or its wait.
func (s *TemplateStep) Runs() string {
	target := func(template, version, handler string) string {
		return strings.TrimSpace(template + handler + " " + version)
	}
	switch {
	case s.Task != nil:
		return "task " + target(s.Task.Template, s.Task.Version, s.Task.Handler)
	case s.ForEach != nil:
		return "task " + target(s.ForEach.Template, s.ForEach.Version, s.ForEach.Handler) + " for each of " + s.ForEach.Items
	case s.Wait != nil:
		return s.Wait.text()
	default:
		return s.Handler
	}
}

func (w *TemplateWait) text() string {
	switch {
	case w.Approval != "":
		return "approval: " + w.Approval
	case w.Signal != "":
		return "signal: " + w.Signal + ", key: " + w.Key
	case w.Until != "":
		return "wait until " + w.Until
	default:
		return "wait for " + (time.Duration(w.ForMS) * time.Millisecond).String()
	}
}

// TemplateWait is the wait of a step without a handler: for a time, given by For or Until, an approval, or a signal.
type TemplateWait struct {
	ForMS     int64  `json:"for_ms,omitempty" doc:"Milliseconds of the wait."`
	Until     string `json:"until,omitempty" doc:"RFC 3339 time, or the place of one in the context, such as {{deliver_at}}."`
	Approval  string `json:"approval,omitempty" doc:"What a human decides."`
	Signal    string `json:"signal,omitempty" doc:"Name of a signal."`
	Key       string `json:"key,omitempty" doc:"Key of the signal, with places for values of the context, such as {{order_id}}."`
	TimeoutMS int64  `json:"timeout_ms,omitempty" doc:"Milliseconds after which a decision or a signal comes too late; absent without end."`
	OnTimeout string `json:"on_timeout,omitempty" doc:"continue: the step completes at the end of that time. Else it fails."`
	OnReject  string `json:"on_reject,omitempty" doc:"continue: a rejected step completes. Else it fails."`
}

// TemplateChild is the child task of a step. One of Template and Handler is set.
type TemplateChild struct {
	Template string `json:"template,omitempty"`
	Version  string `json:"version,omitempty" doc:"Absent for the newest one when the step begins."`
	Handler  string `json:"handler,omitempty" doc:"Of the only step of the child, instead of a template."`
	Context  string `json:"context,omitempty" doc:"Expression of the context of the child; absent for that of the parent."`
	OnError  string `json:"on_error" enum:"wait,fail" doc:"wait: while the child is in error, the step waits for its repair. fail: the step fails."`
}

// TemplateEach are the child tasks of a step, one for each item of a list. One of Template and Handler is set.
type TemplateEach struct {
	Items       string `json:"items" doc:"Expression of the list."`
	Template    string `json:"template,omitempty"`
	Version     string `json:"version,omitempty" doc:"Absent for the newest one when the step begins."`
	Handler     string `json:"handler,omitempty" doc:"Of the only step of each child, instead of a template."`
	Context     string `json:"context,omitempty" doc:"Expression; absent for an object with item and index."`
	Concurrency int    `json:"concurrency" doc:"Children that may run at once."`
	MaxFailed   string `json:"max_failed" doc:"Children that may fail: a number, or a share such as 10%."`
	OnError     string `json:"on_error" enum:"wait,fail" doc:"wait: children in error count once they are cancelled. fail: they count at once."`
	Results     string `json:"results" enum:"list,counts" doc:"list: the result of the step is that of each child. counts: it is their number."`
}

// StepLimit bounds steps on all nodes together: Limit of them at once, or in each period of PerMS milliseconds, and
// up to Burst after a pause. Steps count by the value of Key, or all together without one.
type StepLimit struct {
	Key   string `json:"key,omitempty" doc:"Text with places for values of the context, such as {{customer}}."`
	Limit int    `json:"limit" doc:"Steps at once, or in a period."`
	PerMS int    `json:"per_ms,omitempty" doc:"Milliseconds of the period of a rate; absent in a limit of steps at once."`
	Burst int    `json:"burst,omitempty" doc:"Steps of a rate that may begin at once after a pause."`
}

// RetryPolicy decides whether, how often and after what delay a failed attempt is repeated. max_attempts includes the
// first attempt. Backoff is none, fixed, linear or exponential. Delays are in milliseconds: the base is the delay
// before the second attempt, and MaxBackoffMS bounds later ones.
type RetryPolicy struct {
	Retryable     bool                 `json:"retryable"`
	MaxAttempts   int                  `json:"max_attempts" doc:"0 if it is left to the priority of the task."`
	Backoff       string               `json:"backoff" enum:"none,fixed,linear,exponential"`
	BackoffBaseMS int                  `json:"backoff_base_ms"`
	MaxBackoffMS  int                  `json:"max_backoff_ms"`
	Jitter        float64              `json:"jitter" doc:"Fraction by which the delay may vary, in both directions."`
	Limits        map[FailureClass]int `json:"limits,omitempty" doc:"Retries per class of failure, if the template sets them."`
}

// TemplateFilter selects templates. A zero field does not restrict.
type TemplateFilter struct {
	Namespace string `json:"namespace,omitempty" query:"namespace_name"`
	Name      string `json:"name,omitempty" query:"name"`
	Limit     int    `json:"limit,omitempty" query:"limit" doc:"Page size, 1 to 1000. Defaults to 50."`
	Cursor    string `json:"cursor,omitempty" query:"cursor"`
}

// TemplatePage is one page of templates, the one registered last first, without steps and YAML.
type TemplatePage struct {
	Templates  []Template `json:"templates"`
	NextCursor string     `json:"next_cursor,omitempty"`
}
