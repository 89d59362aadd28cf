package template

import (
	"errors"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/expr"
	"github.com/taskerhq/tasker/internal/model/task"
)

// expression is an expression of a step; its steps are checked with the whole graph.
type expression struct {
	field   string
	at      document.Position
	program *expr.Program
}

// expression reads and notes an expression over context, parents and further names; "" if it is absent or wrong.
func (r *reader) expression(f fields, field string, at *places, names ...string) string {
	v := f.get(field)
	if v == nil {
		return ""
	}
	if v.Kind != document.Text {
		f.report(v.At, "%s must be an expression in quotes, not %s", field, shown(v))
		return ""
	}
	program, err := expr.Compile(v.Text, names...)
	var fault *expr.Error
	switch {
	case errors.As(err, &fault):
		r.report(within(v, fault), "%s is not valid: %s", field, fault.Message)
		return ""
	case err != nil:
		f.report(v.At, "%s is not valid: %v", field, err)
		return ""
	}
	at.expressions = append(at.expressions, expression{field, v.At, program})
	return v.Text
}

// within returns the position of an expression's fault; in a text of several lines, whose indentation is unknown,
// only the line.
func within(v *document.Node, fault *expr.Error) document.Position {
	at := v.At
	switch {
	case strings.Contains(strings.TrimSpace(v.Text), "\n"):
		at.Line += fault.Line
	case v.Quoted:
		at.Column += fault.Column
	default:
		at.Column += fault.Column - 1
	}
	return at
}

// checkExpressions reports steps in expressions that the step does not depend on, because it could run before them.
func (r *reader) checkExpressions(t *task.Template, step int, p places) {
	for _, e := range p.expressions {
		for _, name := range e.program.Steps() {
			others := t.Named([]string{name})
			switch {
			case len(others) == 0:
				r.report(e.at, "%s mentions %s, which is not a step of this template", e.field, wording.Quoted(name))
			case t.Steps[step].OnFailure && !t.Steps[others[0]].OnFailure: // all of these have ended
			case !t.Above(step, others[0]):
				r.report(e.at, "%s mentions %s, which step %s does not depend on", e.field, wording.Quoted(name),
					wording.Quoted(t.Steps[step].Name))
			}
		}
	}
}
