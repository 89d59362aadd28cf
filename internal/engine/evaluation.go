package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/model/expr"
	"github.com/taskerhq/tasker/internal/model/task"
)

// evaluation gives the expressions of a template their values: conditions, lists of items, contexts of children. It
// decodes each document once, and only those that an expression reads: the state of a step is known whatever its result
// is. It is for one transaction, or for one step with child tasks.
type evaluation struct {
	documents map[task.ID]any // contexts by task, results by step
	work      int             // what was decoded and looked at so far; see expr.Program.Work
}

// undecidedError says that a node lacks what it needs for a decision: a key, or words of a newer version. Another node
// may have it, or this one later: until then it decides nothing.
type undecidedError struct{ why string }

// Error implements error.
func (u *undecidedError) Error() string { return u.why }

// undecided reports whether an error is an undecidedError.
func undecided(err error) bool {
	var u *undecidedError
	return errors.As(err, &u)
}

// openedOf returns an undecidedError for a document that this node cannot decrypt, nil for any other. what says which
// one it is.
func openedOf(what string, document []byte) error {
	if reason, _, is := task.WhyUnopened(document); is {
		return &undecidedError{what + " cannot be decrypted: " + reason}
	}
	return nil
}

// programOf returns the compiled form of an expression of a template. It was checked when the template was registered:
// what this version cannot compile is an undecidedError.
func (e *Engine) programOf(text string, names ...string) (*expr.Program, error) {
	p, err := e.programs.get(text, names...)
	if err != nil {
		return nil, &undecidedError{fmt.Sprintf("this version of the server cannot read it: %v", err)}
	}
	return p, nil
}

// theContext is what messages call the context of a task.
const theContext = "the context of the task"

// values returns what an expression of a task sees: its context, and of the steps that it names their states and
// results. Steps may hold others too. The error is an undecidedError for values that this node cannot decrypt, and a
// *largeError for a large result; any other is a fault of a stored document.
func (v *evaluation) values(p *expr.Program, t *task.Template, of *task.Task, steps []*task.Step) (expr.Values, error) {
	var context any
	if p.ReadsContext() {
		var err error
		if context, err = v.decode(theContext, of.ID, of.Context); err != nil {
			return nil, err
		}
	}
	parents := map[string]any{}
	for _, s := range steps {
		name := t.Spec(s).Name
		if !slices.Contains(p.Steps(), name) {
			continue
		}
		var result any
		if p.ReadsResult(name) {
			if l := task.LargeResultOf(s.ID, s.Result); l != nil {
				return nil, &largeError{name, l.Bytes}
			}
			var err error
			if result, err = v.decode("the result of step "+name, s.ID, s.Result); err != nil {
				return nil, err
			}
		}
		parents[name] = expr.Step(string(s.State), result)
	}
	return expr.Values{expr.Context: context, expr.Parents: parents}, nil
}

// bytesDecoded is how many bytes of JSON are as much work to decode as an expression has with one element.
const bytesDecoded = 2

// decode decodes a document of a row, once.
func (v *evaluation) decode(what string, id task.ID, document []byte) (any, error) {
	if document == nil {
		return nil, nil
	}
	if known, ok := v.documents[id]; ok {
		return known, nil
	}
	if err := openedOf(what, document); err != nil {
		return nil, err
	}
	v.work += len(document) / bytesDecoded
	decoded, err := expr.Decode(document)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if v.documents == nil {
		v.documents = map[task.ID]any{}
	}
	v.documents[id] = decoded
	return decoded, nil
}
