package local

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

// RegisterTemplate implements tasker.TemplateBackend. TooLarge: the document exceeds Limits.TemplateBytes. CodeInvalid:
// every problem of the document with its line and column. CodeConflict: the version exists with other content.
// Repeating the same content succeeds, with Created false.
func (b *Backend) RegisterTemplate(ctx context.Context, src tasker.TemplateSource) (*tasker.Template, error) {
	if limit := b.engine.Config().Limits.TemplateBytes; len(src.YAML) > limit {
		return nil, tasker.Errorf(tasker.CodeTooLarge, "the template is %d bytes long; the limit is %d", len(src.YAML), limit)
	}
	// The name appears in messages only: "file:line:column: problem".
	name := src.Filename
	name = cmp.Or(name, "template")
	t, err := template.Parse(name, []byte(src.YAML), b.engine.Level)
	if err != nil {
		return nil, ToError(err)
	}
	// The source is stored unchanged, with its comments.
	t.Source = src.YAML
	stored, created, err := b.engine.RegisterTemplate(ctx, t,
		engine.Registration{Actor: src.RegisteredBy, Reason: src.Reason})
	if err != nil {
		return nil, ToError(err)
	}
	out, err := b.fromTemplate(stored, true)
	if err != nil {
		return nil, err
	}
	out.Created = created
	return out, nil
}

// Template implements tasker.TemplateBackend. An empty version means the newest, an empty namespace the default one.
// CodeNotFound: there is none.
func (b *Backend) Template(ctx context.Context, namespace, name, version string) (*tasker.Template, error) {
	var faults filterFaults
	faults.names("namespace", namespace, "name", name, "version", version)
	if err := faults.err(); err != nil {
		return nil, err
	}
	t, err := b.engine.Template(ctx, namespace, name, version)
	if err != nil {
		return nil, ToError(err)
	}
	return b.fromTemplate(t, true)
}

// Templates implements tasker.TemplateBackend, newest registration first. It bypasses the engine, so it checks the
// limit.
func (b *Backend) Templates(ctx context.Context, f tasker.TemplateFilter) (*tasker.TemplatePage, error) {
	var faults filterFaults
	faults.names("namespace", f.Namespace, "name", f.Name)
	if err := faults.err(); err != nil {
		return nil, err
	}
	filter := engine.TemplateFilter{Namespace: f.Namespace, Name: f.Name, Limit: b.page(f.Limit, defaultPage)}
	limit := b.engine.Config().Limits.PageItems
	if filter.Limit < 1 || filter.Limit > limit {
		return nil, tasker.Errorf(tasker.CodeInvalid, "the limit of a page must be 1 to %d, not %d", limit, f.Limit)
	}
	// A cursor is the number of a template in base 36; clients must not rely on its form.
	if f.Cursor != "" {
		var err error
		if filter.Below, err = strconv.ParseInt(f.Cursor, 36, 64); err != nil || filter.Below <= 0 {
			return nil, noCursor("cursor")
		}
	}
	list, err := b.rows.ListTemplates(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	page := &tasker.TemplatePage{}
	page.Templates, err = eachOr(list, func(t *task.Template) (*tasker.Template, error) {
		return b.fromTemplate(t, false)
	})
	if err != nil {
		return nil, err
	}
	if len(list) == filter.Limit {
		// A full page may be the last one: the next is then empty.
		page.NextCursor = strconv.FormatInt(list[len(list)-1].DefID, 36)
	}
	return page, nil
}

// fromTemplate omits steps and source in a list. An error means that a stored part is not JSON, which only damage
// causes.
func (b *Backend) fromTemplate(t *task.Template, whole bool) (*tasker.Template, error) {
	out := &tasker.Template{Damage: t.Unread, Namespace: t.Namespace, Name: t.Name, Version: t.Version,
		Description: t.Description, Lifecycle: fromLifecycle(t.Lifecycle), Fingerprint: t.Fingerprint,
		CreatedAt: t.CreatedAt, DispatchTTLMS: int(t.DispatchTTL / time.Millisecond), Sensitive: t.Sensitive,
		Unique: fromUnique(t.Unique), Concurrency: fromLimitSpec(t.Concurrency), RateLimit: fromLimitSpec(t.RateLimit)}
	if t.Priority != nil {
		out.Priority = tasker.Priority(b.engine.PriorityName(*t.Priority))
	}
	if !whole {
		return out, nil
	}
	out.YAML = t.Source
	if len(t.InputSchema) > 0 {
		if err := json.Unmarshal(t.InputSchema, &out.InputSchema); err != nil {
			return nil, fmt.Errorf("decode input schema of %s: %w", t.Name, err)
		}
	}
	for _, s := range t.Steps {
		step, err := b.fromSpec(s)
		if err != nil {
			return nil, err
		}
		out.Steps = append(out.Steps, step)
	}
	return out, nil
}

func fromLimitSpec(s *limit.Spec) *tasker.StepLimit {
	switch {
	case s == nil:
		return nil
	case s.Kind() == limit.Concurrency:
		return &tasker.StepLimit{Key: s.Key, Limit: s.Permits}
	default:
		return &tasker.StepLimit{Key: s.Key, Limit: s.Rate.Count, PerMS: int(s.Rate.Per / time.Millisecond),
			Burst: s.Rate.Burst}
	}
}

func fromWait(w *task.Wait) *tasker.TemplateWait {
	if w == nil {
		return nil
	}
	return &tasker.TemplateWait{ForMS: w.For.Milliseconds(), Until: w.Until, Approval: w.Approval, Signal: w.Signal,
		Key: w.Key, TimeoutMS: w.Timeout.Milliseconds(), OnTimeout: string(w.OnTimeout), OnReject: string(w.OnReject)}
}

func fromChild(c *task.ChildSpec) *tasker.TemplateChild {
	if c == nil || c.Each() {
		return nil
	}
	return &tasker.TemplateChild{Template: c.Template, Version: c.Version, Handler: c.Handler, Context: c.Context,
		OnError: c.OnError()}
}

func fromEach(c *task.ChildSpec) *tasker.TemplateEach {
	if c == nil || !c.Each() {
		return nil
	}
	return &tasker.TemplateEach{Items: c.Items, Template: c.Template, Version: c.Version, Handler: c.Handler,
		Context: c.Context, Concurrency: c.Width(), MaxFailed: c.MayFail(), OnError: c.OnError(), Results: c.Results()}
}

// fromSpec converts a step of a template, with the configured back-off as default. MaxAttempts stays 0 if the priority
// of a task decides it.
func (b *Backend) fromSpec(s task.StepSpec) (tasker.TemplateStep, error) {
	retry := b.engine.RetryOf(s)
	out := tasker.TemplateStep{Name: s.Name, Description: s.Description, Handler: s.Handler, Dependencies: s.Dependencies,
		Retry: tasker.RetryPolicy{Retryable: retry.Retryable, MaxAttempts: retry.MaxAttempts, Backoff: string(retry.Backoff),
			BackoffBaseMS: int(retry.Base / time.Millisecond), MaxBackoffMS: int(retry.Max / time.Millisecond),
			Jitter: retry.Jitter},
		TimeoutSeconds: int(s.Timeout / time.Second), RequiredCapabilities: s.Capabilities,
		DispatchTTLMS: int(s.DispatchTTL / time.Millisecond), Concurrency: fromLimitSpec(s.Concurrency),
		RateLimit: fromLimitSpec(s.RateLimit), When: s.When, Wait: fromWait(s.Wait), OnFailure: s.OnFailure,
		Task: fromChild(s.Tasks), ForEach: fromEach(s.Tasks)}
	for _, c := range failure.Classes {
		if n := s.Retry.Limits.Of(c); n != nil {
			if out.Retry.Limits == nil {
				out.Retry.Limits = map[tasker.FailureClass]int{}
			}
			out.Retry.Limits[tasker.FailureClass(c)] = *n
		}
	}
	if s.Priority != nil {
		out.Priority = tasker.Priority(b.engine.PriorityName(*s.Priority))
	}
	init, err := initialization(s)
	out.Initialization = init
	return out, err
}

func initialization(s task.StepSpec) (map[string]any, error) {
	if len(s.Initialization) == 0 {
		return nil, nil
	}
	var m map[string]any
	if err := json.Unmarshal(s.Initialization, &m); err != nil {
		return nil, fmt.Errorf("decode initialization of step %s: %w", s.Name, err)
	}
	return m, nil
}

// fromLifecycle converts durations to whole minutes, the unit of templates. 0 means no threshold.
func fromLifecycle(l task.Lifecycle) tasker.Lifecycle {
	minutes := func(d time.Duration) int { return int(d / time.Minute) }
	return tasker.Lifecycle{MaxWaitingForDependencies: minutes(l.MaxWaitingForDependencies),
		MaxWaitingForRetry: minutes(l.MaxWaitingForRetry),
		MaxStepsInProcess:  minutes(l.MaxStepsInProcess), MaxDuration: minutes(l.MaxDuration)}
}
