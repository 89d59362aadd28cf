package flow

import (
	"errors"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/engine/submit"
	"github.com/taskerhq/tasker/internal/model/expr"
	"github.com/taskerhq/tasker/internal/model/task"
)

// evaluated is what a transaction has evaluated.
type evaluated struct {
	evaluation
	bare    map[task.ID]bool // tasks without a context
	backlog map[task.ID]*backlog
}

var evaluationSlot = kernel.NewSlot(func(*kernel.Unit) *evaluated { return &evaluated{} })

// evaluation decodes each document once, and only those that an expression reads. It serves one transaction, or one
// step with child tasks.
type evaluation struct {
	documents map[task.ID]any // contexts by task, results by step
	work      int             // done so far; see expr.Program.Work
}

// undecidedError puts a decision off: this node lacks a key, or the words of a newer version, that another node may
// have.
type undecidedError struct{ why string }

func (u *undecidedError) Error() string { return u.why }

func undecided(err error) bool {
	var u *undecidedError
	return errors.As(err, &u)
}

func openedOf(what string, document []byte) error {
	if reason, _, is := task.WhyUnopened(document); is {
		return &undecidedError{what + " cannot be decrypted: " + reason}
	}
	return nil
}

// programOf returns faults as an undecidedError, because registration has checked the text.
func (e *Room) programOf(text string, names ...string) (*expr.Program, error) {
	p, err := submit.Of(e.Kernel).Programs.Get(text, names...)
	if err != nil {
		return nil, &undecidedError{fmt.Sprintf("this version of the server cannot read it: %v", err)}
	}
	return p, nil
}

const theContext = "the context of the task"

// values returns an undecidedError for values that this node cannot decrypt, a *largeError for a large result, or a
// fault of a stored document.
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
				return nil, &kernel.LargeError{Step: name, Bytes: l.Bytes}
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

// bytesDecoded is how many bytes cost as much to decode as one element in an expression.
const bytesDecoded = 2

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
