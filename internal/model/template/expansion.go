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

// A validator of JSON Schema follows every reference and tries every alternative, so a schema of two kilobytes can
// require millions of evaluations of one value. The validator cannot be interrupted. Therefore its work is counted
// first: here the part that depends on the schema alone, in work.go the part that depends on a context.

// graph is a compiled schema with everything that it refers to.
// It is built once for each template and only read afterwards.
type graph struct {
	root *jsonschema.Schema
	// dynamic are the possible targets of a dynamic reference, by anchor; "" are those of $recursiveRef.
	dynamic map[string][]*jsonschema.Schema
	// size is the number of subschemas with all references followed, 0 if there is no end.
	size int
	// instructions is the size of the largest regular expression.
	instructions int
}

// newGraph follows a schema and refuses one against which no context could be checked within bounds.
// The problem is located at the subschema at which the count exceeds its bound.
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

// extent is the number and the depth of a schema's subschemas for one value.
// Numbers above their bounds are cut, so that nothing overflows.
type extent struct {
	schemas int // evaluated, with repeats
	depth   int // the longest chain of them
	endless bool
}

// expander finds the extents of schemas.
type expander struct {
	*graph
	known map[*jsonschema.Schema]extent
}

// expand returns the extent of a schema, computed once.
func (e *expander) expand(s *jsonschema.Schema) extent {
	if x, known := e.known[s]; known {
		return x
	}
	e.known[s] = extent{endless: true} // until it is known: a schema that reaches itself on the way is in a cycle
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

// add adds the extent of a subschema that applies to the same value.
func (x *extent) add(sub extent) {
	x.schemas = min(x.schemas+sub.schemas, maxExpansion+1)
	x.depth = max(x.depth, sub.depth+1)
	x.endless = x.endless || sub.endless
}

// maxUnfolded bounds the count of a schema with all references followed.
// A larger schema is still accepted; only the short cut of enter does not apply to it.
const maxUnfolded = 1 << 20

// unfolded counts the subschemas below s with all references followed; 0 if there are too many, or no end of them.
func (g *graph) unfolded(s *jsonschema.Schema, known map[*jsonschema.Schema]int) int {
	if n, ok := known[s]; ok {
		return n
	}
	known[s] = 0
	total := 1
	if s.Enum != nil {
		// An enumeration compares every value with the document; eight comparisons count as one evaluation.
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

// pointerIn returns the place of a subschema in the document.
// The location that the compiler gives is a URL with the pointer as its fragment.
func pointerIn(s *jsonschema.Schema) string {
	_, at, _ := strings.Cut(s.Location, "#")
	return at
}

// reachable returns every subschema once, the root first.
// Dynamic references add nothing: their targets have anchors and are reachable in other ways.
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

// subschemas yields the subschemas that a schema applies to a value itself and to its parts.
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

// inPlace returns the subschemas that apply to the value itself. Some may be nil.
// Each of them costs an evaluation of the same value, so they multiply.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		list = append(list, s.DynamicRef.Ref)
	}
	list = slices.Concat(list, s.AllOf, s.AnyOf, s.OneOf)
	list = slices.AppendSeq(list, maps.Values(s.DependentSchemas))
	return slices.AppendSeq(list, schemasOf(maps.Values(s.Dependencies)))
}

// ofParts returns the subschemas that apply to members, names and items. Some may be nil.
// They cost evaluations of parts, of which a document has a limited number.
func ofParts(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems}
	list = slices.AppendSeq(list, maps.Values(s.Properties))
	list = slices.AppendSeq(list, maps.Values(s.PatternProperties))
	list = append(list, s.PrefixItems...)
	list = append(list, itemSchemas(s)...)
	return slices.AppendSeq(list, schemasOf(slices.Values([]any{s.AdditionalProperties, s.Items, s.AdditionalItems})))
}

// itemSchemas returns the list form of items in older drafts.
func itemSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	list, _ := s.Items.([]*jsonschema.Schema)
	return list
}

// schemasOf yields those of the values that are schemas.
// The library keeps true and false as booleans in such places; they cost nothing.
func schemasOf(values iter.Seq[any]) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		for v := range values {
			if s, ok := v.(*jsonschema.Schema); ok && !yield(s) {
				return
			}
		}
	}
}

// targets returns the possible targets of a dynamic reference of s.
// Which of them it is depends on the way by which the validator came, so all are counted.
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
