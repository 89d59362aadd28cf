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

// Schema is a compiled JSON Schema. It is safe for concurrent use.
// It is immutable, and takes memory in proportion to the schema.
type Schema struct {
	compiled *jsonschema.Schema
	graph    *graph
}

// CompileSchema compiles a JSON Schema: draft 2020-12 unless $schema names another built-in one. It checks "format" and
// ignores unknown formats. A $ref must stay inside the schema: nothing is ever loaded. A schema is refused if it is too
// large, or if no context could be checked against it within bounds. The error is task.Invalid, its problems at JSON
// pointers into the schema.
// It costs time in proportion to the schema; callers keep the result.
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

// Check returns the problems of a task's context, each at a JSON pointer ("/amount"; "" is the context itself), in the
// order of the pointers, at most a hundred. Numbers of any size keep their digits. A context is refused without a check
// if the check would take too much work.
// nil means that the context matches. It may block while another large context is being checked.
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

// schemaURL is the address of a schema without $id, schemaBase the base of its relative references. They lead nowhere.
const (
	schemaBase = "tasker:///"
	schemaURL  = schemaBase + "input_schema"
)

// compile compiles a decoded schema; problems are at pointers into it.
// It is used for a schema in a template, whose problems get positions, and for a stored one.
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

// sizeOf counts the values of a document.
// The caller has bounded the depth.
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

// nowhere refuses to load. The drafts' own meta-schemas are built into the compiler and never loaded here.
type nowhere struct{}

var errRemote = errors.New("a reference must stay inside the schema; nothing is loaded from elsewhere")

// Load implements jsonschema.URLLoader.
func (nowhere) Load(string) (any, error) { return nil, errRemote }

// compileProblems describes an error of the compiler and finds its place.
// The library's errors contain addresses of the schema, which mean nothing to an author and are removed.
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

// findRef returns the pointer of the first reference that leads to target, "" without one: an $id in between may have
// moved the base.
// Members are visited in the order of their names, so the result does not depend on the order of a map.
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

// leadsTo compares a reference as written, or as resolved, with a target that the compiler names with or without its
// fragment.
// A reference that is no URL leads nowhere.
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

// decode reads JSON with the digits of its numbers, and refuses values on which the validator would spend minutes.
// Its problems have pointers into the JSON, "" for a fault of the syntax.
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

// findUnfit finds the first value that is nested too deeply, or a number with an exponent beyond that of a double: the
// validator computes exactly, so 1e999999 costs it a million digits.
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

// sortedKeys makes the first of several faults the same in every run.
func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
