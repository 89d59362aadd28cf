package template

import (
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// steps reads and links the steps. Faults of the graph are at the step's name or the faulty dependency. Linking
// runs after faults in single steps, so that an author sees both kinds together; faults of on_failure come last.
func (r *reader) steps(t *task.Template, at *document.Node, items, onFailure []*document.Node) {
	switch {
	case at.Kind != document.List: // reported
		return
	case len(items) == 0:
		r.report(at.At, "a template needs at least one step")
	case len(items)+len(onFailure) > task.MaxSteps:
		r.report(at.At, "a template has at most %d steps, not %d", task.MaxSteps, len(items)+len(onFailure))
		return
	}
	places := make([]places, 0, len(items)+len(onFailure))
	named := true
	for i, item := range slices.Concat(items, onFailure) {
		s, at := r.step(item)
		s.OnFailure = i >= len(items)
		t.Steps, places = append(t.Steps, s), append(places, at)
		named = named && s.Name != ""
	}
	for _, fault := range t.Link() {
		p := places[fault.Step]
		switch {
		case fault.Dependency >= 0:
			r.report(p.dependencies[fault.Dependency], "%s", fault.Message)
		case named || t.Steps[fault.Step].Name != "":
			r.report(p.name, "%s", fault.Message)
		}
	}
	for i, p := range places {
		r.checkExpressions(t, i, p)
	}
}

type places struct {
	name         document.Position
	dependencies []document.Position
	expressions  []expression
}

// step always adds one entry to priorities, because the fingerprint depends on their order.
func (r *reader) step(item *document.Node) (task.StepSpec, places) {
	at := places{name: item.At}
	f, ok := r.open(item, "a step")
	if !ok {
		r.priorities = append(r.priorities, "")
		return task.StepSpec{}, at
	}
	if v := f.get("name"); v != nil {
		at.name = v.At
	}
	s := task.StepSpec{
		Name:         f.name("name", f.need("name"), MaxName),
		Description:  f.prose("description"),
		Retry:        r.retry(f.get("retry")),
		Timeout:      time.Duration(f.whole("timeout_seconds", 1, maxTimeoutSeconds)) * time.Second,
		Capabilities: r.capabilities(f),
		Priority:     r.priority(f),
		DispatchTTL:  f.dispatchTTL(),
		Concurrency:  r.concurrency(f.get("concurrency")),
		RateLimit:    r.rateLimit(f.get("rate_limit")),
	}
	s.When = r.expression(f, "when", &at)
	switch {
	case f.get("wait") != nil:
		s.Wait = r.wait(f)
	case f.get("task") != nil || f.get("for_each") != nil:
		s.Tasks = r.tasks(f, &at)
	default:
		s.Handler, s.Initialization = r.handler(f)
	}
	for _, v := range f.list("dependencies") {
		if name := f.name("a dependency", v, MaxName); name != "" {
			s.Dependencies = append(s.Dependencies, name)
			at.dependencies = append(at.dependencies, v.At)
		}
	}
	return s, at
}

// handler reads a name, or the long form with initialization. Without initialization both have the same meaning and
// fingerprint.
func (r *reader) handler(f fields) (string, []byte) {
	v := f.need("handler")
	if v == nil {
		return "", nil
	}
	if v.Kind != document.Mapping {
		return f.name("handler", v, MaxName), nil
	}
	h, _ := r.open(v, "handler")
	name := h.name("callable", h.need("callable"), MaxName)
	init := h.get("initialization")
	switch {
	case init == nil:
		return name, nil
	case init.Kind != document.Mapping:
		h.report(init.At, "initialization must be a mapping, not %s", shown(init))
		return name, nil
	}
	return name, canonical(init)
}

// capabilities are sorted without duplicates.
func (r *reader) capabilities(f fields) []string {
	var set []string
	items := f.list("required_capabilities")
	if len(items) > MaxCapabilities {
		f.report(f.get("required_capabilities").At, "a step requires at most %d capabilities, not %d", MaxCapabilities,
			len(items))
		return nil
	}
	for _, v := range items {
		if name := f.name("a capability", v, MaxName); name != "" {
			set = append(set, name)
		}
	}
	return task.Capabilities(set)
}

// retry reads a retry block over the defaults. max_attempts is 0 if absent: the task's priority decides then.
func (r *reader) retry(v *document.Node) task.Retry {
	policy := task.DefaultRetry()
	if v == nil {
		return policy
	}
	f, ok := r.open(v, "retry")
	if !ok {
		return policy
	}
	policy.Retryable = f.truth("retryable", policy.Retryable)
	policy.MaxAttempts = f.whole("max_attempts", 1, MaxAttempts)
	policy.Jitter = f.fraction("jitter", policy.Jitter)
	policy.BaseSaid, policy.JitterSaid = f.get("backoff_base_ms") != nil, f.get("jitter") != nil
	if ms := f.whole("backoff_base_ms", 1, maxDelayMS); ms > 0 {
		policy.Base = time.Duration(ms) * time.Millisecond
	}
	policy.Max = time.Duration(f.whole("max_backoff_ms", 1, maxDelayMS)) * time.Millisecond
	if v := f.get("backoff"); v != nil {
		policy.Backoff = task.Backoff(f.text("backoff", v))
		if v.Kind == document.Text && !slices.Contains(task.Backoffs, policy.Backoff) {
			f.report(v.At, "backoff must be none, fixed, linear or exponential, not %s", wording.Quoted(v.Text))
		}
	}
	policy.Limits = r.limits(f.get("limits"))
	return policy
}

// limits reads the retries of each class of failure; nil is no limit, 0 no retry.
func (r *reader) limits(v *document.Node) (l task.ClassLimits) {
	if v == nil {
		return l
	}
	f, ok := r.open(v, "limits")
	if !ok {
		return l
	}
	of := func(key string) *int {
		if f.get(key) == nil {
			return nil
		}
		n := f.whole(key, 0, MaxAttempts-1)
		return &n
	}
	return task.ClassLimits{Transient: of("transient"), Resource: of("resource"), Logic: of("logic"), Worker: of("worker")}
}
