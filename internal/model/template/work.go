package template

import (
	"encoding/json"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/taskerhq/tasker/internal/model/task"
)

// value is a value of a context. Its number identifies it; its sizes bound the work on it and are counted once.
type value struct {
	v       any
	number  int
	size    int // values, including this one
	bytes   int // of text
	members map[string]*value
	items   []*value
}

// numbered numbers the values of a document from next on, and returns the next number. Only distinctness matters.
func numbered(v any, next int) (*value, int) {
	out := &value{v: v, number: next, size: 1}
	next++
	adopt := func(part *value) {
		out.size += part.size
		out.bytes += part.bytes
	}
	switch v := v.(type) {
	case map[string]any:
		out.members = make(map[string]*value, len(v))
		for name, member := range v {
			out.members[name], next = numbered(member, next)
			out.bytes += len(name)
			adopt(out.members[name])
		}
	case []any:
		out.items = make([]*value, len(v))
		for i, item := range v {
			out.items[i], next = numbered(item, next)
			adopt(out.items[i])
		}
	case string:
		out.bytes = len(v)
	case json.Number:
		out.bytes = len(v)
	}
	return out, next
}

// work is the maximum cost of checking a context; see limits.go.
type work struct{ evaluations, steps int }

// The bounds are far below an overflow.
func (w *work) add(more work) {
	w.evaluations += more.evaluations
	w.steps += more.steps
}

// counter counts the work for one context, each pair of schema and value once, and stops above the limit.
type counter struct {
	*graph
	allowed work
	pairs   int
	known   map[visit]work
}

type visit struct {
	schema *jsonschema.Schema
	value  int
}

// count returns the cost of checking a document and whether it is allowed. It is an upper bound: some keywords stop
// at the first fault.
func (g *graph) count(document any) (work, bool) {
	root, _ := numbered(document, 0)
	allowed := work{freeEvaluations + evaluationsPerValue*root.size, freeSteps + stepsPerByte*root.bytes}
	c := counter{graph: g, allowed: allowed, known: map[visit]work{}}
	w := c.of(g.root, root)
	return w, c.within(w)
}

// within limits the work and the counting itself.
func (c *counter) within(w work) bool {
	return w.evaluations <= c.allowed.evaluations && w.steps <= c.allowed.steps && c.pairs <= c.allowed.evaluations
}

// of stops above the limit with an excessive count, so that nothing overflows.
func (c *counter) of(s *jsonschema.Schema, v *value) work {
	if s == nil || v == nil {
		return work{}
	}
	key := visit{s, v.number}
	if w, known := c.known[key]; known {
		return w
	}
	c.pairs++
	w := itself(s, v)
	for _, count := range []func(*jsonschema.Schema, *value, *work){c.inPlace, c.members, c.items} {
		if !c.within(w) {
			break
		}
		count(s, v, &w)
	}
	c.known[key] = w
	return w
}

// itself returns the work of one evaluation without subschemas. Eight comparisons, or a kilobyte of text, count as
// one evaluation.
func itself(s *jsonschema.Schema, v *value) work {
	// an evaluation of an object or array iterates over its parts
	w := work{evaluations: 1 + (len(v.members)+len(v.items)+len(s.Required))/8}
	if s.Enum != nil {
		w.evaluations += len(s.Enum.Values) / 8
	}
	if s.Enum != nil || s.Const != nil || s.UniqueItems {
		w.evaluations += v.size / 8 // compares whole values
	}
	if text, ok := v.v.(string); ok {
		w.evaluations += len(text) / 1024
		w.steps += stepsOf(s.Pattern, text)
	}
	return w
}

func stepsOf(r jsonschema.Regexp, text string) int {
	if p, ok := r.(pattern); ok {
		return p.instructions * (len(text) + 1)
	}
	return 0
}

func (c *counter) inPlace(s *jsonschema.Schema, v *value, w *work) {
	for _, sub := range inPlace(s) {
		if w.add(c.of(sub, v)); !c.within(*w) {
			return
		}
	}
	for _, target := range c.targets(s) {
		if w.add(c.of(target, v)); !c.within(*w) {
			return
		}
	}
}

func (c *counter) members(s *jsonschema.Schema, v *value, w *work) {
	more, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for name, member := range v.members {
		if !c.within(*w) {
			return
		}
		own, listed := s.Properties[name]
		w.add(c.of(own, member))
		for r, sub := range s.PatternProperties {
			if w.steps += stepsOf(r, name); !c.within(*w) {
				return
			}
			if r.MatchString(name) {
				listed = true
				w.add(c.of(sub, member))
			}
		}
		if !listed {
			w.add(c.of(more, member))
		}
		w.add(c.of(s.UnevaluatedProperties, member))
		if s.PropertyNames != nil {
			// a name has no number and occurs once
			w.add((&counter{graph: c.graph, allowed: c.allowed, known: map[visit]work{}}).of(s.PropertyNames,
				&value{v: name, size: 1}))
		}
	}
}

func (c *counter) items(s *jsonschema.Schema, v *value, w *work) {
	list := append(itemSchemas(s), s.PrefixItems...)
	each, _ := s.Items.(*jsonschema.Schema)
	more, _ := s.AdditionalItems.(*jsonschema.Schema)
	for i, item := range v.items {
		if !c.within(*w) {
			return
		}
		if i < len(list) {
			w.add(c.of(list[i], item))
		}
		for _, sub := range []*jsonschema.Schema{each, more, s.Items2020, s.Contains, s.UnevaluatedItems} {
			w.add(c.of(sub, item))
		}
	}
}

// heavy is process-wide: it parses or checks one large document at a time, which bounds the memory.
var heavy sync.Mutex

// free is the work below which a check is neither counted nor blocks.
const (
	// freeMatching is 20 ms of matching at ten nanoseconds a step.
	free         = freeEvaluations
	freeMatching = 2_000_000
)

// enter refuses a document, of a length in bytes, whose check would cost too much. Call leave after the check. The
// problem is at the whole document.
func (g *graph) enter(document any, bytes int) (leave func(), refused *task.Problem) {
	// A document has at most half as many values as bytes, plus one; each meets every subschema at most once, with
	// references followed.
	if g.size > 0 && g.size*(bytes/2+1) <= free && g.size*g.instructions*(bytes+1) <= freeMatching {
		return func() {}, nil
	}
	w, allowed := g.count(document)
	if !allowed {
		return nil, &task.Problem{Message: "checking it against the input schema would take too much work: " +
			"send less, or simplify the schema in a new version of the template"}
	}
	if w.evaluations <= free && w.steps <= freeMatching {
		return func() {}, nil
	}
	heavy.Lock()
	return heavy.Unlock, nil
}
