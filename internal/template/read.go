package template

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/task"
)

// Levels resolves the name of a priority level. It is the caller's table: this
// package knows no names of its own.
type Levels func(name string) (int, bool)

// DefaultNamespace is the namespace of a template that names none.
const DefaultNamespace = "default"

// Parse reads a template document. A nil levels knows no names, only numbers.
//
// The error is a *task.Error: task.TooLarge for a source over MaxSource, else
// task.Invalid with every problem found, each at filename:line:column, in the
// order of the source. A template without error is linked, has its fingerprint
// and keeps src as its Source.
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

// reader reads one document.
type reader struct {
	*problems
	levels Levels

	// What the fingerprint covers and task.Template does not hold.
	metadata   json.RawMessage
	priorities []string // as written: the template's, then each step's
}

// tree parses the source, in whichever notation it is. It returns nil after it
// has reported why there is no tree.
func (r *reader) tree(src []byte) *node {
	if !utf8.Valid(src) {
		r.report(invalidAt(src), "the document is not valid UTF-8")
		return nil
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if marks(src) > maxMarks {
		r.report(position{1, 1}, "the document has more than %d lines, entries and other marks of structure", maxMarks)
		return nil
	}
	var root *node
	if json.Valid(src) {
		root = r.jsonTree(src)
	} else {
		root = r.yamlTree(string(src))
	}
	switch {
	case root == nil:
	case root.size > maxNodes:
		r.report(root.at, "the document has more than %d values, with its aliases expanded", maxNodes)
		return nil
	case root.depth > maxDepth:
		r.report(root.at, "lists and mappings nest deeper than %d levels", maxDepth)
		return nil
	}
	return root
}

// marks counts the characters that give a document its structure.
func marks(src []byte) int {
	n := 0
	for _, mark := range []byte("\n,:-[]{}&*!?#%|>") {
		n += bytes.Count(src, []byte{mark})
	}
	return n
}

// invalidAt finds the first byte that is not UTF-8.
func invalidAt(src []byte) position {
	at := position{1, 1}
	for len(src) > 0 {
		c, size := utf8.DecodeRune(src)
		if c == utf8.RuneError && size == 1 {
			break
		}
		if src = src[size:]; c == '\n' {
			at = position{at.line + 1, 1}
		} else {
			at.column++
		}
	}
	return at
}

// template reads the whole document. The result is usable only when nothing
// was reported.
func (r *reader) template(root *node) *task.Template {
	f, ok := r.open(root, "a template", "name", "namespace_name", "version", "description", "priority",
		"input_schema", "metadata", "lifecycle", "steps")
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
	}
	if v := f.get("namespace_name"); v != nil {
		t.Namespace = f.name("namespace_name", v, MaxName)
	}
	if v := f.get("metadata"); v != nil {
		if v.kind != mapping {
			f.report(v.at, "metadata must be a mapping, not %s", shown(v))
		}
		r.metadata = canonical(v)
	}
	if v := f.need("steps"); v != nil {
		r.steps(t, v, f.list("steps"))
	}
	return t
}

// priority reads a level's name or number, and notes it as written.
func (r *reader) priority(f fields) *int {
	v := f.get("priority")
	if v == nil {
		r.priorities = append(r.priorities, "")
		return nil
	}
	r.priorities = append(r.priorities, v.text)
	if v.kind == text && r.levels != nil {
		if level, known := r.levels(v.text); known {
			return &level
		}
	}
	if v.kind == text {
		// Requests carry a number as a string; so may a template.
		if n, err := json.Number(v.text).Int64(); err == nil && n >= 0 && n <= task.MaxPriority {
			level := int(n)
			return &level
		}
		r.report(v.at, "%s is not the name of a priority level, nor a level from 0 to %d", quoted(v.text), task.MaxPriority)
		return nil
	}
	level := f.whole("priority", 0, task.MaxPriority)
	return &level
}

// lifecycle reads the thresholds.
func (r *reader) lifecycle(v *node) task.Lifecycle {
	if v == nil {
		return task.Lifecycle{}
	}
	f, ok := r.open(v, "lifecycle", "max_waiting_for_dependencies_minutes", "max_waiting_for_retry_minutes",
		"max_steps_in_process_minutes", "max_duration_minutes")
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

// schema compiles the input schema, so that a broken one is refused here and
// not with the first task.
func (r *reader) schema(v *node) []byte {
	if v == nil {
		return nil
	}
	if v.size > maxSchemaValues { // with its aliases, which become values of their own
		r.report(v.at, "input_schema: the schema has more than %d values, with its aliases expanded", maxSchemaValues)
		return nil
	}
	_, faults := compile(v.value())
	for _, fault := range faults {
		r.report(v.follow(fault.Location).at, "input_schema: %s", fault.Message)
	}
	return canonical(v)
}
