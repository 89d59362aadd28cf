package template

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Levels resolves the name, known or not, of a priority level. The caller has the table.
type Levels func(name string) (int, bool)

// DefaultNamespace is the namespace of a template that names none.
const DefaultNamespace = "default"

// Parse reads a template document. A nil levels accepts only numbers.
//
// The error is a *task.Error: task.TooLarge for a source over MaxSource, else task.Invalid with every problem, each
// at filename:line:column, in source order. A valid template is linked, has its fingerprint and keeps src as its
// Source. Parse is safe for concurrent use; it parses documents above largeSource one at a time.
func Parse(filename string, src []byte, levels Levels) (*task.Template, error) {
	if len(src) > MaxSource {
		return nil, task.Errorf(task.TooLarge, "the template has %d bytes; at most %d are allowed", len(src), MaxSource)
	}
	if len(src) > largeSource {
		heavy.Lock()
		defer heavy.Unlock()
	}
	r := reader{problems: newProblems(filename), levels: levels}
	root := r.tree(src)
	if root == nil {
		return nil, r.err()
	}
	t := r.template(root)
	if err := r.err(); err != nil {
		return nil, err
	}
	print, err := r.fingerprint(t)
	if err != nil {
		return nil, err
	}
	t.Source, t.Fingerprint = string(src), print
	return t, nil
}

type reader struct {
	*problems
	levels Levels

	// Parts of the fingerprint that task.Template lacks.
	metadata   json.RawMessage
	priorities []string // as written: the template's, then each step's
}

// tree parses the source and reports why it fails. An empty document needs its own report, because the parser has
// none.
func (r *reader) tree(src []byte) *document.Node {
	root := document.Parse(src, document.Options{
		What:   "a template",
		Limits: sourceLimits,
		Report: func(at document.Position, message string) { r.report(at, "%s", message) },
	})
	if root == nil && len(r.found) == 0 {
		r.report(document.Position{Line: 1, Column: 1}, "the document is empty")
	}
	return root
}

// template reads the whole document; with problems the result is unusable.
func (r *reader) template(root *document.Node) *task.Template {
	// err sorts the problems by place; the order of the getters only breaks ties.
	f, ok := r.open(root, "a template")
	if !ok {
		return nil
	}
	t := &task.Template{
		Namespace:   DefaultNamespace,
		Name:        f.name("name", f.need("name"), MaxName),
		Version:     f.name("version", f.need("version"), MaxVersion),
		Description: f.prose("description"),
		Priority:    r.priority(f),
		InputSchema: r.schema(f.get("input_schema")),
		Lifecycle:   r.lifecycle(f.get("lifecycle")),
		DispatchTTL: f.dispatchTTL(),
		Sensitive:   f.sensitive(),
		Concurrency: r.concurrency(f.get("concurrency")),
		RateLimit:   r.rateLimit(f.get("rate_limit")),
		Unique:      r.unique(f.get("unique")),
	}
	if v := f.get("namespace_name"); v != nil {
		t.Namespace = f.name("namespace_name", v, MaxName)
	}
	if v := f.get("metadata"); v != nil {
		if v.Kind != document.Mapping {
			f.report(v.At, "metadata must be a mapping, not %s", shown(v))
		}
		r.metadata = canonical(v)
	}
	if v := f.need("steps"); v != nil {
		r.steps(t, v, f.list("steps"), f.list("on_failure"))
	}
	r.keysAreShown(t, f.get("sensitive"))
	return t
}

// priority reads a level's name or number and keeps the spelling; nil if absent.
func (r *reader) priority(f fields) *int {
	v := f.get("priority")
	if v == nil {
		r.priorities = append(r.priorities, "")
		return nil
	}
	r.priorities = append(r.priorities, v.Text)
	if v.Kind == document.Text && r.levels != nil {
		if level, known := r.levels(v.Text); known {
			return &level
		}
	}
	if v.Kind == document.Text {
		// As in requests, a number may be a string.
		if n, err := json.Number(v.Text).Int64(); err == nil && n >= 0 && n <= task.MaxPriority {
			level := int(n)
			return &level
		}
		r.report(v.At, "%s is not the name of a priority level, nor a level from 0 to %d", wording.Quoted(v.Text),
			task.MaxPriority)
		return nil
	}
	level := f.whole("priority", 0, task.MaxPriority)
	return &level
}

// lifecycle reads the thresholds. 0 minutes is refused: omit the threshold instead.
func (r *reader) lifecycle(v *document.Node) task.Lifecycle {
	if v == nil {
		return task.Lifecycle{}
	}
	f, ok := r.open(v, "lifecycle")
	if !ok {
		return task.Lifecycle{}
	}
	minutes := func(key string, most int) time.Duration {
		return time.Duration(f.whole(key, 1, most)) * time.Minute
	}
	return task.Lifecycle{
		MaxWaitingForDependencies: minutes("max_waiting_for_dependencies_minutes", maxStateMinutes),
		MaxWaitingForRetry:        minutes("max_waiting_for_retry_minutes", maxStateMinutes),
		MaxStepsInProcess:         minutes("max_steps_in_process_minutes", maxStateMinutes),
		MaxDuration:               minutes("max_duration_minutes", maxDurationMinutes),
	}
}

// dispatchTTL reads dispatch_ttl_ms of a template or a step; 0 if absent.
func (f fields) dispatchTTL() time.Duration {
	return time.Duration(f.whole("dispatch_ttl_ms", minDispatchTTLMS, maxDispatchTTLMS)) * time.Millisecond
}

// sensitive reads pointers to sensitive values, sorted without duplicates, so that their order does not change the
// fingerprint.
func (f fields) sensitive() []string {
	items := f.list("sensitive")
	var pointers []string
	for i, v := range items {
		if i > sensitive.MaxPointers {
			break
		}
		p := f.text("a sensitive pointer", v)
		if v.Kind != document.Text {
			continue
		}
		for _, fault := range sensitive.Check([]string{p}) {
			f.report(v.At, "the sensitive pointer %s %s", wording.Quoted(p), fault.Message)
		}
		pointers = append(pointers, p)
	}
	if len(items) > sensitive.MaxPointers {
		f.report(f.get("sensitive").At, "sensitive may have at most %d pointers, not %d", sensitive.MaxPointers, len(items))
	}
	slices.Sort(pointers)
	return slices.Compact(pointers)
}

// schema compiles the input schema to refuse a faulty one now, and returns its canonical JSON.
func (r *reader) schema(v *document.Node) []byte {
	if v == nil {
		return nil
	}
	if v.Size() > maxSchemaValues { // aliases count as separate values
		r.report(v.At, "input_schema: the schema has more than %d values, with its aliases expanded", maxSchemaValues)
		return nil
	}
	_, faults := compile(v.Value())
	for _, fault := range faults {
		r.report(v.Follow(fault.Location).At, "input_schema: %s", fault.Message)
	}
	return canonical(v)
}
