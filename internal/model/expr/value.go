package expr

import (
	"fmt"
	"strconv"

	"github.com/expr-lang/expr/vm"
)

// Values maps the names of an expression to values in the form that [Decode] returns. A missing name is null.
type Values map[string]any

// Step is the value of a step in an expression: its state and its result, null without one.
func Step(state string, result any) any { return map[string]any{"state": state, "result": result} }

// Value evaluates the expression. The error is an *Error that shows no value. The result shares memory with values:
// do not change it.
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
	of, ok := elementsOf(v)
	if !ok {
		return nil, &Error{1, 1, "the expression must be a list, and it is " + kindOf(v)}
	}
	return of, nil
}

// same fails if either value is encoded by a client; otherwise it is equal.
func same(a, b any) (bool, error) {
	if a != nil && b != nil {
		if e, found := encodedIn(a); found {
			return false, unreadable(e)
		}
		if e, found := encodedIn(b); found {
			return false, unreadable(e)
		}
	}
	return equal(a, b)
}

func encodedIn(v any) (e Encoded, found bool) {
	if e, found = v.(Encoded); found {
		return e, true
	}
	if of, is := elementsOf(v); is {
		for _, element := range of {
			if e, found = encodedIn(element); found {
				return e, true
			}
		}
	}
	if of, is := membersOf(v); is {
		for _, element := range of {
			if e, found = encodedIn(element); found {
				return e, true
			}
		}
	}
	return e, false
}

func unreadable(e Encoded) error { return fmt.Errorf("a value is %s, so no expression can read it", e) }

func equal(a, b any) (bool, error) {
	if isNumber(a) && isNumber(b) {
		order, err := compare(a, b)
		return order == 0, err
	}
	if s, is := stringOf(a); is {
		t, is := stringOf(b)
		return is && s == t, nil
	}
	if x, is := elementsOf(a); is {
		y, is := elementsOf(b)
		return equalEach(x, y, is)
	}
	if x, is := membersOf(a); is {
		y, is := membersOf(b)
		return equalMembers(x, y, is)
	}
	switch a.(type) {
	case nil, bool:
		return a == b, nil
	}
	return false, nil // only one is a number, or one is encoded and the other is not null
}

func equalEach(a, b []any, comparable bool) (bool, error) {
	if !comparable || len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if is, err := equal(a[i], b[i]); !is || err != nil {
			return false, err
		}
	}
	return true, nil
}

func equalMembers(a, b map[string]any, comparable bool) (bool, error) {
	if !comparable || len(a) != len(b) {
		return false, nil
	}
	for name, v := range a {
		w, found := b[name]
		if !found {
			return false, nil
		}
		if is, err := equal(v, w); !is || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Member returns a member of an object or the element of a list at an index; null without one.
func Member(v any, name string) any {
	if of, is := membersOf(v); is {
		return of[name]
	}
	if of, is := elementsOf(v); is {
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(of) {
			return of[i]
		}
	}
	return nil
}
