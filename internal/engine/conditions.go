package engine

import (
	"fmt"
	"sync"

	"github.com/taskerhq/tasker/internal/model/expr"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func conditionsFeature() feature {
	return feature{
		name: "conditions",
		enter: func(u *unit, w Work, def *task.Template) (bool, error) {
			if def.Spec(w.Step).When == "" {
				return false, nil
			}
			return control{u}.decideCondition(w, def)
		},
	}
}

// decideCondition takes the step unless its condition holds.
func (c control) decideCondition(w Work, t *task.Template) (taken bool, err error) {
	when := t.Spec(w.Step).When
	holds, fault, err := c.holds(w, t, when)
	switch {
	case err != nil:
		return true, err
	case undecided(fault):
		return true, c.leaveAlone(w, "its condition is not decided", fault)
	case fault != nil:
		return true, c.failCondition(w, t, "when", when, fault)
	}
	w.Step.Note = ""
	if !holds {
		return true, c.skip(w)
	}
	return false, nil
}

const codeCondition = "EXPRESSION"

// failCondition does not retry: the values stay the same until an operator edits the input.
func (c control) failCondition(w Work, t *task.Template, field, text string, err error) error {
	return c.failUnrun(w, t, &task.Failure{Type: "expression_error", Code: codeCondition, Class: failure.Logic,
		Message: fmt.Sprintf("%s of step %s cannot be evaluated: %v, in: %s", field, t.Spec(w.Step).Name, err, text)})
}

func (c control) holds(w Work, t *task.Template, when string) (holds bool, fault, err error) {
	p, fault := c.u.e.programOf(when)
	if fault != nil {
		return false, fault, nil
	}
	if p.ReadsContext() {
		if err := c.readContext(w.Task); err != nil {
			return false, nil, err
		}
	}
	steps, err := c.u.rows.siblings(family(w.Step, t.Named(p.Steps())))
	if err != nil {
		return false, nil, err
	}
	values, fault := c.state().evaluation.values(p, t, w.Task, steps)
	if fault != nil {
		return false, fault, nil
	}
	work := p.Work(values)
	c.state().evaluation.work += work
	c.backlogOf(w.Task).each = work
	holds, fault = p.Bool(values)
	return holds, fault, nil
}

type programs struct {
	mu     sync.Mutex
	byText map[string]*expr.Program
}

const maxPrograms = 10_000

func (p *programs) get(text string, names ...string) (*expr.Program, error) {
	key := fmt.Sprint(text, names)
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.byText[key]; c != nil {
		return c, nil
	}
	c, err := expr.Compile(text, names...)
	if err != nil {
		return nil, err
	}
	if p.byText == nil {
		p.byText = map[string]*expr.Program{}
	}
	makeRoom(p.byText, maxPrograms)
	p.byText[key] = c
	return c, nil
}
