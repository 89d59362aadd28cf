package template

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	fault "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/taskerhq/tasker/internal/kit/pointer"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// explain returns one problem for every leaf of an error, without repeats, sorted by pointer, at most maxProblems.
// For anyOf and oneOf it explains each likely alternative.
func explain(e *jsonschema.ValidationError) []task.Problem {
	var found []task.Problem
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		// A hostile context has a leaf for about every byte.
		if len(found) >= maxProblems*10 {
			return
		}
		causes := alternatives(e)
		// One likely alternative helps more than "none of these".
		if msg := messageOf(e.ErrorKind); msg != "" && (len(causes) != 1 || len(e.Causes) == 1) {
			found = append(found, task.Problem{Location: pointerOf(e.InstanceLocation), Message: msg})
		}
		for _, cause := range causes {
			walk(cause)
		}
	}
	walk(e)
	slices.SortStableFunc(found, func(a, b task.Problem) int { return cmp.Compare(a.Location, b.Location) })
	found = slices.Compact(found)
	return found[:min(len(found), maxProblems)]
}

// alternatives returns the causes of an error; of an anyOf or oneOf only the alternatives for the type of the
// value, if there are any.
func alternatives(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch e.ErrorKind.(type) {
	case *fault.AnyOf, *fault.OneOf:
	default:
		return e.Causes
	}
	var meant []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		if !mistyped(cause, len(e.InstanceLocation)) {
			meant = append(meant, cause)
		}
	}
	if len(meant) == 0 {
		return e.Causes
	}
	return meant
}

// mistyped reports whether an alternative failed because the value at depth has the wrong type.
func mistyped(e *jsonschema.ValidationError, depth int) bool {
	if _, ok := e.ErrorKind.(*fault.Type); ok {
		return len(e.InstanceLocation) == depth
	}
	return slices.ContainsFunc(e.Causes, func(c *jsonschema.ValidationError) bool { return mistyped(c, depth) })
}

func pointerOf(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + pointer.Escape(p))
	}
	return b.String()
}

// messageOf continues "the value ..."; "" for a fault that only groups others.
func messageOf(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *fault.Schema, *fault.Group, *fault.Reference, *fault.AllOf:
		return ""
	case *fault.AnyOf:
		return "matches none of the alternatives (anyOf)"
	case *fault.OneOf:
		if len(k.Subschemas) > 1 {
			return fmt.Sprintf("matches the alternatives %d and %d; it must match exactly one (oneOf)", k.Subschemas[0],
				k.Subschemas[1])
		}
		return "matches none of the alternatives (oneOf)"
	case *fault.Not:
		return "matches what it must not (not)"
	case *fault.FalseSchema:
		return "is not allowed"
	case *fault.Type:
		return fmt.Sprintf("must be of type %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *fault.Required:
		return "lacks " + properties(k.Missing)
	case *fault.AdditionalProperties:
		return "must not have " + properties(k.Properties)
	case *fault.Minimum:
		return fmt.Sprintf("must be at least %s, not %s", decimal(k.Want), decimal(k.Got))
	case *fault.Maximum:
		return fmt.Sprintf("must be at most %s, not %s", decimal(k.Want), decimal(k.Got))
	case *fault.ExclusiveMinimum:
		return fmt.Sprintf("must be more than %s, not %s", decimal(k.Want), decimal(k.Got))
	case *fault.ExclusiveMaximum:
		return fmt.Sprintf("must be less than %s, not %s", decimal(k.Want), decimal(k.Got))
	case *fault.MultipleOf:
		return fmt.Sprintf("must be a multiple of %s, not %s", decimal(k.Want), decimal(k.Got))
	case *fault.MinLength:
		return fmt.Sprintf("must have at least %d characters, not %d", k.Want, k.Got)
	case *fault.MaxLength:
		return fmt.Sprintf("must have at most %d characters, not %d", k.Want, k.Got)
	case *fault.Pattern:
		return fmt.Sprintf("must match the pattern %s", wording.Quoted(k.Want))
	case *fault.Format:
		return fmt.Sprintf("is not a valid %s: %s", k.Want, shortened(fmt.Sprint(k.Err)))
	default:
		return shortened(k.LocalizedString(message.NewPrinter(language.English)))
	}
}

// properties lists at most ten names: a hostile context can have thousands.
func properties(names []string) string {
	const most = 10
	word := "the property "
	if len(names) > 1 {
		word = "the properties "
	}
	var shown []string
	for _, n := range names[:min(len(names), most)] {
		shown = append(shown, wording.Quoted(n))
	}
	if len(names) > most {
		shown = append(shown, fmt.Sprintf("and %d more", len(names)-most))
	}
	return word + strings.Join(shown, ", ")
}

// decimal rounds a long number for display; 20 decimals exceed any author's.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return shortened(r.Num().String())
	}
	s := r.FloatString(20)
	return shortened(strings.TrimRight(s, "0"))
}

// shortened makes a quoted context short and safe to print, at 200 characters, not bytes.
func shortened(s string) string {
	const most = 200
	s = strings.Map(printable, s)
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}
