package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/expr-lang/expr/vm"

	"github.com/taskerhq/tasker/internal/envelope"
)

// Values are what the names of an expression stand for, in the form that [Decode] returns. A name without a value is
// null.
type Values map[string]any

// Step is what an expression sees of a step that it names: its state, and its result, null for a step without one.
func Step(state string, result any) any { return map[string]any{"state": state, "result": result} }

// Decode reads a JSON document for expressions; nothing is null. Whole numbers of up to 64 bits are exact, others are
// as near as a float64.
func Decode(document []byte) (any, error) {
	if len(bytes.TrimSpace(document)) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("read a JSON value: %w", err)
	}
	return numbered(v), nil
}

// Encoded is a value that a client has encoded. An expression can hand it on, and ask whether there is a value, but not
// read it.
type Encoded struct{ envelope.Envelope }

// numbered replaces the numbers of a decoded value by values that can be calculated with, and envelopes by Encoded.
func numbered(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return int(n)
		}
		f, _ := v.Float64() // out of range: an infinity
		return f
	case []any:
		for i, e := range v {
			v[i] = numbered(e)
		}
	case map[string]any:
		if e, is := envelope.Of(v); is {
			return Encoded{e}
		}
		for name, e := range v {
			v[name] = numbered(e)
		}
	}
	return v
}

// Value evaluates the expression. The error is an *Error, and shows no value that the expression has read. The result
// is part of the values that were read, or made of them: it must not be changed.
func (p *Program) Value(values Values) (any, error) {
	env := make(map[string]any, len(p.names))
	for _, name := range p.names {
		env[name] = values[name]
	}
	v, err := vm.Run(p.code, env)
	if err != nil {
		return nil, errorOf(err)
	}
	return v, nil
}

// Bool evaluates an expression that is true or false.
func (p *Program) Bool(values Values) (bool, error) {
	v, err := p.Value(values)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, &Error{1, 1, "the expression must be true or false, and it is " + kindOf(v)}
	}
	return b, nil
}

// List evaluates an expression that is a list. Null is no list.
func (p *Program) List(values Values) ([]any, error) {
	v, err := p.Value(values)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, &Error{1, 1, "the expression must be a list, and it is " + kindOf(v)}
	}
	return list, nil
}

// ErrTooLarge is the error of a value that is larger than is allowed.
var ErrTooLarge = errors.New("the value is too large")

// Encode returns a value as JSON of at most limit bytes.
func Encode(v any, limit int) ([]byte, error) {
	out, err := json.Marshal(v)
	if err != nil { // an infinity, or not a number
		return nil, fmt.Errorf("encode the value: %w", err)
	}
	if len(out) > limit {
		return nil, fmt.Errorf("%w: %d bytes; the limit is %d", ErrTooLarge, len(out), limit)
	}
	return out, nil
}

// same is equal for an expression: it fails for a value that a client has encoded, in either of them.
func same(a, b any) (bool, error) {
	for _, v := range []any{a, b} {
		if e, found := encodedIn(v); found && a != nil && b != nil {
			return false, unreadable(e)
		}
	}
	return equal(a, b), nil
}

// encodedIn returns an encoded value that v is or has.
func encodedIn(v any) (e Encoded, found bool) {
	switch v := v.(type) {
	case Encoded:
		return v, true
	case []any:
		for _, element := range v {
			if e, found = encodedIn(element); found {
				return e, true
			}
		}
	case map[string]any:
		for _, element := range v {
			if e, found = encodedIn(element); found {
				return e, true
			}
		}
	}
	return e, false
}

func unreadable(e Encoded) error { return fmt.Errorf("a value is %s, so no expression can read it", e) }

// equal compares two values: numbers by value, lists and objects member by member.
func equal(a, b any) bool {
	switch a := a.(type) {
	case int:
		switch b := b.(type) {
		case int:
			return a == b
		case float64:
			return float64(a) == b
		}
		return false
	case float64:
		switch b := b.(type) {
		case int:
			return a == float64(b)
		case float64:
			return a == b
		}
		return false
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, found := b[name]; !found || !equal(v, w) {
				return false
			}
		}
		return true
	}
	if _, encoded := a.(Encoded); encoded { // it is not null; others do not come here
		return false
	}
	return a == b // null, true and false, strings
}

// Member returns a member of an object, or the element of a list at an index; null where there is none.
func Member(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[name]
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}
