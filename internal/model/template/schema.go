package template

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/taskerhq/tasker/internal/kit/pointer"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Schema is a compiled, immutable JSON Schema. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	graph    *graph
}

// CompileSchema compiles a JSON Schema: draft 2020-12 unless $schema names another built-in one. It checks
// "format", ignores unknown formats, and never loads a $ref from outside. It refuses a schema that is too large, or
// against which no context could be checked within bounds, with task.Invalid and problems at JSON pointers into the
// schema.
func CompileSchema(schema []byte) (*Schema, error) {
	v, problems := decode(schema)
	if len(problems) == 0 {
		var s *Schema
		if s, problems = compile(v); len(problems) == 0 {
			return s, nil
		}
	}
	return nil, &task.Error{Code: task.Invalid, Message: "the input schema is not valid", Problems: problems}
}

// Check returns the problems of a task's context, each at a JSON pointer ("/amount"; "" is the context itself), in
// order, at most a hundred; nil for a match. It refuses a context whose check would take too much work. It may
// block while another large context is checked.
func (s *Schema) Check(context []byte) []task.Problem {
	v, problems := decode(context)
	if len(problems) > 0 {
		return problems
	}
	leave, refused := s.graph.enter(v, len(context))
	if refused != nil {
		return []task.Problem{*refused}
	}
	defer leave()
	err := s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []task.Problem{{Message: err.Error()}}
	}
	return explain(invalid)
}

// schemaURL is the address of a schema without $id, schemaBase the base of relative references. Neither is loaded.
const (
	schemaBase = "tasker:///"
	schemaURL  = schemaBase + "input_schema"
)

// compile compiles a decoded schema, of a template or stored; problems are at pointers into it.
func compile(v any) (*Schema, []task.Problem) {
	if sizeOf(v) > maxSchemaValues {
		return nil, []task.Problem{{Message: fmt.Sprintf("the schema has more than %d values", maxSchemaValues)}}
	}
	c := jsonschema.NewCompiler()
	c.UseRegexpEngine(compilePattern)
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	c.AssertFormat()
	err := c.AddResource(schemaURL, v)
	if err == nil {
		var compiled *jsonschema.Schema
		if compiled, err = c.Compile(schemaURL); err == nil {
			g, endless := newGraph(compiled)
			if endless != nil {
				return nil, []task.Problem{*endless}
			}
			return &Schema{compiled, g}, nil
		}
	}
	return nil, compileProblems(v, err)
}

// The caller bounds the depth.
func sizeOf(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			n += sizeOf(member)
		}
	case []any:
		for _, item := range v {
			n += sizeOf(item)
		}
	}
	return n
}

// nowhere refuses to load. The compiler contains the meta-schemas of the drafts.
type nowhere struct{}

var errRemote = errors.New("a reference must stay inside the schema; nothing is loaded from elsewhere")

func (nowhere) Load(string) (any, error) { return nil, errRemote }

// compileProblems finds the place of a compiler's error and removes internal addresses from its text.
func compileProblems(v any, err error) []task.Problem {
	var (
		meta    *jsonschema.SchemaValidationError
		invalid *jsonschema.ValidationError
		remote  *jsonschema.LoadURLError
		pointer *jsonschema.JSONPointerNotFoundError
		anchor  *jsonschema.AnchorNotFoundError
		regex   *jsonschema.InvalidRegexError
	)
	if errors.As(err, &meta) {
		err = meta.Err // it has no Unwrap
	}
	switch {
	case errors.As(err, &invalid):
		return explain(invalid)
	case errors.As(err, &regex):
		_, at, _ := strings.Cut(regex.URL, "#")
		return []task.Problem{
			{Location: at, Message: fmt.Sprintf("%s is not a regular expression: %v", wording.Quoted(regex.Regex), regex.Err)}}
	case errors.As(err, &remote):
		return []task.Problem{{Location: findRef(v, remote.URL, ""),
			Message: fmt.Sprintf("cannot use %s: %v", wording.Quoted(strings.TrimPrefix(remote.URL, schemaBase)), errRemote)}}
	case errors.As(err, &pointer):
		ref := strings.TrimPrefix(pointer.URL, schemaURL)
		return []task.Problem{{Location: findRef(v, ref, ""),
			Message: fmt.Sprintf("the reference %s leads nowhere", wording.Quoted(ref))}}
	case errors.As(err, &anchor):
		ref := strings.TrimPrefix(anchor.Reference, schemaURL)
		return []task.Problem{{Location: findRef(v, ref, ""),
			Message: fmt.Sprintf("the reference %s leads nowhere", wording.Quoted(ref))}}
	default:
		return []task.Problem{{Message: strings.ReplaceAll(err.Error(), schemaURL, "")}}
	}
}

// findRef returns the pointer of the first reference to target, "" without one, as after an $id that moves the
// base. It visits members sorted by name, so the result is deterministic.
func findRef(v any, target, at string) string {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"$ref", "$dynamicRef", "$schema"} {
			if ref, _ := v[key].(string); ref != "" && leadsTo(ref, target) {
				return at + "/" + key
			}
		}
		for _, key := range sortedKeys(v) {
			if found := findRef(v[key], target, at+"/"+pointer.Escape(key)); found != "" {
				return found
			}
		}
	case []any:
		for i, item := range v {
			if found := findRef(item, target, at+"/"+strconv.Itoa(i)); found != "" {
				return found
			}
		}
	}
	return ""
}

// leadsTo compares a reference, as written or resolved, with a target with or without its fragment.
func leadsTo(ref, target string) bool {
	if ref == target {
		return true
	}
	base, err := url.Parse(schemaURL)
	if err != nil {
		return false
	}
	resolved, err := base.Parse(ref)
	if err != nil {
		return false
	}
	if resolved.String() == target {
		return true
	}
	resolved.Fragment, resolved.RawFragment = "", ""
	return resolved.String() == target
}

// decode reads JSON with exact numbers, and refuses values that would cost the validator minutes. Problems have
// pointers; "" for a syntax error.
func decode(src []byte) (any, []task.Problem) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		return nil, []task.Problem{{Message: "it is not valid JSON: " + strings.TrimPrefix(err.Error(), "json: ")}}
	}
	if unfit := findUnfit(v, "", 1); unfit != nil {
		return nil, []task.Problem{*unfit}
	}
	return v, nil
}

// findUnfit finds the first value nested too deeply, or number with an exponent beyond a double: the validator
// computes exactly, and 1e999999 costs a million digits.
func findUnfit(v any, at string, depth int) *task.Problem {
	if depth > maxContextDepth {
		return &task.Problem{Location: at, Message: fmt.Sprintf("it nests deeper than %d levels", maxContextDepth)}
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if unfit := findUnfit(v[key], at+"/"+pointer.Escape(key), depth+1); unfit != nil {
				return unfit
			}
		}
	case []any:
		for i, item := range v {
			if unfit := findUnfit(item, at+"/"+strconv.Itoa(i), depth+1); unfit != nil {
				return unfit
			}
		}
	case json.Number:
		if len(v) > maxDigits {
			return &task.Problem{Location: at, Message: fmt.Sprintf("the number has more than %d digits", maxDigits)}
		}
		if i := strings.IndexAny(v.String(), "eE"); i >= 0 {
			if exp, err := strconv.Atoi(v.String()[i+1:]); err != nil || exp > maxExponent || exp < -maxExponent {
				return &task.Problem{Location: at, Message: fmt.Sprintf("the number %s is out of range",
					wording.Quoted(v.String()))}
			}
		}
	}
	return nil
}

// sortedKeys makes the first fault deterministic.
func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
