package template

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/taskerhq/tasker/internal/model/task"
)

// A JSON Schema validator follows every reference and tries every alternative, so two kilobytes of schema can
// require millions of evaluations of one value, and it cannot be interrupted. So its work is counted first: here
// the part of the schema alone, in work.go the part of a context.

// graph is a compiled schema with all that it refers to. It is immutable after newGraph.
type graph struct {
	root *jsonschema.Schema
	// dynamic are the possible targets of a dynamic reference, by anchor; "" is for $recursiveRef.
	dynamic map[string][]*jsonschema.Schema
	// size counts the subschemas with all references followed; 0 for endless.
	size int
	// instructions is the size of the largest regular expression.
	instructions int
}

// newGraph refuses a schema against which no context could be checked within bounds. The problem is at the
// subschema that exceeds the bound.
func newGraph(root *jsonschema.Schema) (*graph, *task.Problem) {
	g := &graph{root: root, dynamic: map[string][]*jsonschema.Schema{}}
	all := g.reachable()
	for _, s := range all {
		if s.DynamicAnchor != "" {
			g.dynamic[s.DynamicAnchor] = append(g.dynamic[s.DynamicAnchor], s)
		}
		if s.RecursiveAnchor {
			g.dynamic[""] = append(g.dynamic[""], s)
		}
		g.instructions = max(g.instructions, stepsOf(s.Pattern, ""))
		for r := range s.PatternProperties {
			g.instructions = max(g.instructions, stepsOf(r, ""))
		}
	}
	e := expander{graph: g, known: map[*jsonschema.Schema]extent{}}
	for _, s := range all {
		switch x := e.expand(s); {
		case x.endless:
			return nil, &task.Problem{Location: pointerIn(s),
				Message: "refers to itself for one and the same value, without end"}
		case x.depth > maxSchemaDepth:
			return nil, &task.Problem{Location: pointerIn(s),
				Message: fmt.Sprintf("leads through more than %d references and alternatives, one inside the other",
					maxSchemaDepth)}
		case x.schemas > maxExpansion:
			return nil, &task.Problem{Location: pointerIn(s), Message: fmt.Sprintf("one value would be checked against more "+
				"than %d subschemas: references and alternatives inside alternatives multiply", maxExpansion)}
		}
	}
	g.size = g.unfolded(root, map[*jsonschema.Schema]int{})
	return g, nil
}

// extent is the number and depth of a schema's subschemas for one value, cut at their bounds against overflow.
type extent struct {
	schemas int // evaluated, including repeats
	depth   int // their longest chain
	endless bool
}

type expander struct {
	*graph
	known map[*jsonschema.Schema]extent
}

func (e *expander) expand(s *jsonschema.Schema) extent {
	if x, known := e.known[s]; known {
		return x
	}
	e.known[s] = extent{endless: true} // for now: a schema that reaches itself is in a cycle
	out := extent{schemas: 1, depth: 1}
	for _, sub := range inPlace(s) {
		if sub != nil {
			out.add(e.expand(sub))
		}
	}
	for _, target := range e.targets(s) {
		out.add(e.expand(target))
	}
	e.known[s] = out
	return out
}

func (x *extent) add(sub extent) {
	x.schemas = min(x.schemas+sub.schemas, maxExpansion+1)
	x.depth = max(x.depth, sub.depth+1)
	x.endless = x.endless || sub.endless
}

// maxUnfolded bounds the count with all references followed. A larger schema is accepted without the short cut of
// enter.
const maxUnfolded = 1 << 20

// unfolded counts the subschemas of s with all references followed; 0 for too many or endless.
func (g *graph) unfolded(s *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if n, ok := known[s]; ok {
		return n
	}
	known[s] = 0
	total := 1
	if s.Enum != nil {
		// An enumeration compares every value; eight comparisons count as one evaluation.
		total += len(s.Enum.Values) / 8
	}
	for _, list := range [][]*jsonschema.Schema{inPlace(s), ofParts(s), g.targets(s)} {
		for _, sub := range list {
			if sub == nil {
				continue
			}
			n := g.unfolded(sub, known)
			if total += n; n == 0 || total > maxUnfolded {
				return 0
			}
		}
	}
	known[s] = total
	return total
}

// pointerIn returns the pointer in the fragment of the compiler's URL.
func pointerIn(s *jsonschema.Schema) string {
	_, at, _ := strings.Cut(s.Location, "#")
	return at
}

// reachable returns every subschema once, the root first. Targets of dynamic references have anchors and are
// reachable otherwise.
func (g *graph) reachable() []*jsonschema.Schema {
	list := []*jsonschema.Schema{g.root}
	seen := map[*jsonschema.Schema]bool{g.root: true}
	for i := 0; i < len(list); i++ {
		for sub := range subschemas(list[i]) {
			if !seen[sub] {
				seen[sub] = true
				list = append(list, sub)
			}
		}
	}
	return list
}

func subschemas(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		for _, list := range [][]*jsonschema.Schema{inPlace(s), ofParts(s)} {
			for _, sub := range list {
				if sub != nil && !yield(sub) {
					return
				}
			}
		}
	}
}

// inPlace returns the subschemas for the value itself, some nil. Each costs an evaluation of the same value, so
// they multiply.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		list = append(list, s.DynamicRef.Ref)
	}
	list = slices.Concat(list, s.AllOf, s.AnyOf, s.OneOf)
	list = slices.AppendSeq(list, maps.Values(s.DependentSchemas))
	return slices.AppendSeq(list, schemasOf(maps.Values(s.Dependencies)))
}

// ofParts returns the subschemas for members, names and items, some nil. They cost evaluations of parts, which a
// document limits.
func ofParts(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems}
	list = slices.AppendSeq(list, maps.Values(s.Properties))
	list = slices.AppendSeq(list, maps.Values(s.PatternProperties))
	list = append(list, s.PrefixItems...)
	list = append(list, itemSchemas(s)...)
	return slices.AppendSeq(list, schemasOf(slices.Values([]any{s.AdditionalProperties, s.Items, s.AdditionalItems})))
}

func itemSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	list, _ := s.Items.([]*jsonschema.Schema)
	return list
}

// schemasOf skips true and false, which the library keeps as booleans and which cost nothing.
func schemasOf(values iter.Seq[any]) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		for v := range values {
			if s, ok := v.(*jsonschema.Schema); ok && !yield(s) {
				return
			}
		}
	}
}

// targets returns all possible targets of a dynamic reference, because the actual one depends on the validator's
// path.
func (g *graph) targets(s *jsonschema.Schema) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	if s.DynamicRef != nil && s.DynamicRef.Anchor != "" {
		list = g.dynamic[s.DynamicRef.Anchor]
	}
	if s.RecursiveRef != nil {
		list = append(slices.Clip(list), g.dynamic[""]...)
	}
	return list
}
