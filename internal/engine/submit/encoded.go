package submit

import (
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/internal/kit/pointer"
	"github.com/taskerhq/tasker/internal/model/expr"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A client may encode values of a context. A submission is refused if its template has to read one, instead of
// evaluating conditions wrongly. An expression that reads an encoded result fails when it is evaluated.

func (e *Room) checkEncoded(t *task.Template, context []byte, at string) []task.Problem {
	if t.InputSchema == nil && !t.Controlled && !t.Limited || !envelope.Within(context) {
		return nil
	}
	c := encodedCheck{at: at + "/context"}
	var err error
	if c.document, err = expr.Decode(context); err != nil {
		return nil // refused elsewhere
	}
	if whole, is := c.document.(expr.Encoded); is && t.InputSchema != nil {
		c.report("", whole, "the input schema of the template")
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		c.expression(e.Kernel, s.When, "the condition (when) of step "+s.Name, false)
		if s.Tasks != nil {
			c.expression(e.Kernel, s.Tasks.Items, "the list (for_each) of step "+s.Name, false)
			c.expression(e.Kernel, s.Tasks.Context, "the context of the child of step "+s.Name, true, s.Tasks.Names()...)
		}
		if s.Wait != nil {
			c.text(s.Wait.Until, "the time (until) of step "+s.Name)
			c.text(s.Wait.Key, "the key of the signal of step "+s.Name)
		}
		for _, g := range s.Gates {
			c.key(g.Key, "the key of the "+g.Name)
		}
	}
	return c.problems
}

type encodedCheck struct {
	at       string
	document any
	problems []task.Problem
}

// expression lets an encoded value pass where the expression only passes it on.
func (c *encodedCheck) expression(e *kernel.Kernel, text, what string, passes bool, names ...string) {
	if text == "" {
		return
	}
	p, err := Of(e).Programs.Get(text, names...)
	if err != nil {
		return // registration has checked the template
	}
	for _, path := range p.Reads() {
		c.path(path, what, passes)
	}
}

func (c *encodedCheck) text(text, what string) {
	if !strings.Contains(text, "{{") {
		return
	}
	if key, err := limit.ParseKey(text); err == nil {
		c.key(key, what)
	}
}

func (c *encodedCheck) key(key limit.Key, what string) {
	for _, path := range key.Paths {
		c.path(path, what, false)
	}
}

// path reports an encoded value above a place, or at it unless it may be passed on.
func (c *encodedCheck) path(path []string, what string, passes bool) {
	v, at := c.document, ""
	for i := 0; ; i++ {
		if encoded, is := v.(expr.Encoded); is {
			if i < len(path) || !passes {
				c.report(at, encoded, what)
			}
			return
		}
		if i == len(path) {
			return
		}
		v = expr.Member(v, path[i])
		at += "/" + pointer.Escape(path[i])
	}
}

func (c *encodedCheck) report(at string, encoded expr.Encoded, what string) {
	if len(c.problems) > check.MaxProblems {
		return
	}
	c.problems = append(c.problems, task.Problem{Location: c.at + at,
		Message: fmt.Sprintf("is %s, and %s reads it: send it in clear text, and encode other fields", encoded, what)})
}

func explainEncoded(problems []task.Problem, context []byte, at string) {
	_, _ = envelope.Rewrite(context, func(where string, e envelope.Envelope) ([]byte, error) {
		for i := range problems {
			p := &problems[i]
			if of := at + "/context" + where; p.Location == of || strings.HasPrefix(p.Location, of+"/") {
				p.Message += fmt.Sprintf(" (the value is %s: the schema sees an object with %s)", e, envelope.Member)
			}
		}
		return e.MarshalJSON()
	})
}
