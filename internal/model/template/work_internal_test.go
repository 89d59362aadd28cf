package template

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func aPattern(instructions int) pattern { return pattern{regexp.MustCompile("a"), instructions} }

func many(n int) []any { return make([]any, n) }

func TestNumbered(t *testing.T) {
	t.Parallel()
	root, next := numbered(map[string]any{"ab": []any{"xyz", json.Number("12")}, "c": nil}, 0)
	if next != 5 || root.size != 5 || root.bytes != 2+1+3+2 {
		t.Errorf("the document has %d values, or %d, and %d bytes", next, root.size, root.bytes)
	}
	list := root.members["ab"]
	got := []int{root.number, list.number, list.items[0].number, list.items[1].number, root.members["c"].number}
	if slices.Sort(got); !slices.Equal(got, []int{0, 1, 2, 3, 4}) || list.size != 3 || list.bytes != 5 {
		t.Errorf("the numbers are %v; the list has %d values and %d bytes", got, list.size, list.bytes)
	}
}

func TestWorkOfOneEvaluation(t *testing.T) {
	t.Parallel()
	eight := map[string]*value{}
	for _, name := range strings.Split("abcdefgh", "") {
		eight[name] = &value{}
	}
	something := any(1)
	for name, c := range map[string]struct {
		schema jsonschema.Schema
		of     value
		want   work
	}{
		"Nothing": {jsonschema.Schema{}, value{size: 80}, work{evaluations: 1}},
		"Members": {jsonschema.Schema{Required: make([]string, 16)}, value{members: eight}, work{evaluations: 1 + 3}},
		"Items": {jsonschema.Schema{Required: make([]string, 8)}, value{items: make([]*value, 16)},
			work{evaluations: 1 + 3}},
		"Enum": {jsonschema.Schema{Enum: &jsonschema.Enum{Values: many(24)}}, value{size: 16},
			work{evaluations: 1 + 3 + 2}},
		"Const":     {jsonschema.Schema{Const: &something}, value{size: 16}, work{evaluations: 1 + 2}},
		"Unique":    {jsonschema.Schema{UniqueItems: true}, value{size: 16}, work{evaluations: 1 + 2}},
		"Text":      {jsonschema.Schema{}, value{v: strings.Repeat("x", 3072)}, work{evaluations: 1 + 3}},
		"Pattern":   {jsonschema.Schema{Pattern: aPattern(3)}, value{v: "abcd"}, work{1, 3 * 5}},
		"NoPattern": {jsonschema.Schema{Pattern: aPattern(3)}, value{v: json.Number("12")}, work{evaluations: 1}},
	} {
		if got := itself(&c.schema, &c.of); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	c := counter{allowed: work{evaluations: 10, steps: 20}, pairs: 10}
	for _, w := range []work{{10, 20}, {0, 0}} {
		if !c.within(w) {
			t.Errorf("%+v is too much", w)
		}
	}
	for _, w := range []work{{11, 20}, {10, 21}} {
		if c.within(w) {
			t.Errorf("%+v is allowed", w)
		}
	}
	if c.pairs = 11; c.within(work{}) {
		t.Error("too many pairs are allowed")
	}
	c = counter{graph: &graph{}, allowed: work{evaluations: 10}, known: map[visit]work{}}
	schema, one, two := &jsonschema.Schema{}, &value{number: 1}, &value{number: 2}
	for _, v := range []*value{one, two, one} {
		if got := c.of(schema, v); got != (work{evaluations: 1}) {
			t.Errorf("a value costs %+v", got)
		}
	}
	if c.pairs != 2 {
		t.Errorf("%d pairs were looked at, want 2", c.pairs)
	}
	for bytes, want := range map[int]bool{100_000: true, 100_001: false} { // 200 steps for each instruction but 200
		g := &graph{root: &jsonschema.Schema{Pattern: aPattern(400)}}
		if _, allowed := g.count(strings.Repeat("x", bytes-2)); allowed != want {
			t.Errorf("a text of %d bytes: %t, want %t", bytes-2, allowed, want)
		}
	}
}

// Only expensive documents are counted and checked one at a time. It observes the shared lock, so it runs alone.
func TestEnter(t *testing.T) {
	costly := &jsonschema.Schema{Pattern: aPattern(1000)}
	document := strings.Repeat("x", 40_000) // refused if counted
	for _, c := range []struct {
		graph   graph
		bytes   int
		counted bool
	}{
		{graph{size: 0}, 0, true}, // too large to count
		{graph{size: 10}, 3999, false},
		{graph{size: 10}, 4000, true},
		{graph{size: 1, instructions: 1000}, 1999, false},
		{graph{size: 1, instructions: 1000}, 2000, true},
		{graph{size: 2, instructions: 500}, 2000, true},
	} {
		c.graph.root = costly
		leave, refused := c.graph.enter(document, c.bytes)
		if (refused != nil) != c.counted {
			t.Errorf("size %d, %d instructions, %d bytes: refused %v, want %t", c.graph.size, c.graph.instructions,
				c.bytes, refused, c.counted)
		}
		if leave != nil {
			leave()
		}
	}
	values := func(n int) *jsonschema.Schema {
		return &jsonschema.Schema{Enum: &jsonschema.Enum{Values: many(8 * (n - 1))}}
	}
	for _, c := range []struct {
		name     string
		root     *jsonschema.Schema
		document any
		alone    bool
	}{
		{"Steps", costly, strings.Repeat("x", 1999), false},
		{"MoreSteps", costly, strings.Repeat("x", 2000), true},
		{"Evaluations", values(20_000), true, false},
		{"MoreEvaluations", values(20_001), true, true},
	} {
		g := graph{root: c.root}
		leave, refused := g.enter(c.document, 0)
		if refused != nil {
			t.Fatalf("%s: refused: %v", c.name, refused)
		}
		held := !heavy.TryLock()
		if !held {
			heavy.Unlock()
		}
		if leave(); held != c.alone {
			t.Errorf("%s: alone %t, want %t", c.name, held, c.alone)
		}
	}
}

// Small sources are parsed during a large one. It holds the shared lock, so it runs alone.
func TestSmallSourcesDoNotWait(t *testing.T) {
	heavy.Lock()
	defer heavy.Unlock()
	source := "name: n\nversion: '1'\nsteps: [{name: s, handler: h}]\n#"
	done := make(chan error, 1)
	go func() {
		_, err := Parse("", []byte(source+strings.Repeat("x", largeSource-len(source))), nil)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a source of 64 KiB waits")
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	named, recursive, other := &jsonschema.Schema{}, &jsonschema.Schema{}, &jsonschema.Schema{}
	g := &graph{dynamic: map[string][]*jsonschema.Schema{"n": {named}, "": {recursive}}}
	for name, c := range map[string]struct {
		schema jsonschema.Schema
		want   []*jsonschema.Schema
	}{
		"None": {jsonschema.Schema{}, nil},
		"Dynamic": {jsonschema.Schema{DynamicRef: &jsonschema.DynamicRef{Ref: other, Anchor: "n"}},
			[]*jsonschema.Schema{named}},
		"Static":    {jsonschema.Schema{DynamicRef: &jsonschema.DynamicRef{Ref: other}}, nil},
		"Recursive": {jsonschema.Schema{RecursiveRef: other}, []*jsonschema.Schema{recursive}},
	} {
		if got := g.targets(&c.schema); !slices.Equal(got, c.want) {
			t.Errorf("%s: %d targets, want %d", name, len(got), len(c.want))
		}
	}
	for anchor, want := range map[string]int{"": 0, "n": 1} {
		g, fault := newGraph(&jsonschema.Schema{DynamicAnchor: anchor})
		if fault != nil || len(g.dynamic[anchor]) != want {
			t.Errorf("the anchor %q has %d schemas, %v", anchor, len(g.dynamic[anchor]), fault)
		}
	}
}

func TestBoundsOfSchemas(t *testing.T) {
	t.Parallel()
	deep := func(n int) *jsonschema.Schema {
		s := &jsonschema.Schema{}
		for range n - 1 {
			s = &jsonschema.Schema{Not: s}
		}
		return s
	}
	wide := func(n int) *jsonschema.Schema {
		s := &jsonschema.Schema{AllOf: make([]*jsonschema.Schema, n-1)}
		for i := range s.AllOf {
			s.AllOf[i] = &jsonschema.Schema{}
		}
		return s
	}
	for name, c := range map[string]struct {
		schema *jsonschema.Schema
		want   string
	}{
		"Deep": {deep(64), ""}, "TooDeep": {deep(65), "leads through more than 64"},
		"Wide": {wide(10_000), ""}, "TooWide": {wide(10_001), "more than 10000 subschemas"},
	} {
		_, fault := newGraph(c.schema)
		if (fault != nil) != (c.want != "") || fault != nil && !strings.Contains(fault.Message, c.want) {
			t.Errorf("%s: %v, want %q", name, fault, c.want)
		}
	}
	g := &graph{}
	if got := g.unfolded(&jsonschema.Schema{Enum: &jsonschema.Enum{Values: many(24)}},
		map[*jsonschema.Schema]int{}); got != 1+3 {
		t.Errorf("an enumeration counts as %d", got)
	}
	for n, want := range map[int]int{maxUnfolded: maxUnfolded, maxUnfolded + 1: 0} {
		sub := &jsonschema.Schema{}
		known := map[*jsonschema.Schema]int{sub: n - 1}
		if got := g.unfolded(&jsonschema.Schema{Not: sub}, known); got != want {
			t.Errorf("%d schemas count as %d", n, got)
		}
	}
}

func TestSizeOfSchemas(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{maxSchemaValues: true, maxSchemaValues + 1: false} {
		_, faults := compile(map[string]any{"examples": many(n - 2)})
		if got := len(faults) == 0; got != want {
			t.Errorf("%d values: %t, want %t (%v)", n, got, want, faults)
		}
	}
	for n, want := range map[int]bool{maxInstructions: true, maxInstructions + 1: false} {
		if _, err := compilePattern(strings.Repeat("a", n)); (err == nil) != want {
			t.Errorf("%d instructions: %v", n, err)
		}
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	known := []string{"name", "timeout_seconds", strings.Repeat("k", 65)}
	for got, want := range map[string]string{
		"Name": "name", "nane": "name", "timeout": "timeout_seconds", "time": "timeout_seconds", "out": "",
		"step_name":                      "name",
		strings.Repeat("x", 60) + "name": "name", strings.Repeat("x", 61) + "name": "",
	} {
		if s := suggest(got, known); s != want {
			t.Errorf("%q suggests %q, want %q", got, s, want)
		}
	}
}
