package engine

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func conditionsFeature() feature {
	return feature{
		name: "conditions",
		enter: func(u *unit, w Work, def *task.Template) (bool, error) {
			spec := def.Spec(w.Step)
			if spec.When == "" && (spec.Wait == nil || !spec.Wait.ReadsContext()) {
				return false, nil
			}
			if c := (control{u}); evaluationSlot.of(u).work >= workAtOnce {
				return true, c.queueUp(w)
			} else if spec.When != "" {
				return c.decideCondition(w, def)
			}
			return false, nil
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
	values, fault := evaluationSlot.of(c.u).values(p, t, w.Task, steps)
	if fault != nil {
		return false, fault, nil
	}
	work := p.Work(values)
	evaluationSlot.of(c.u).work += work
	c.backlogOf(w.Task).each = work
	holds, fault = p.Bool(values)
	return holds, fault, nil
}

// leaveAlone neither charges nor fails the step, because consequences such as compensation could not be undone.
func (c control) leaveAlone(w Work, what string, why error) error {
	w.Step.Note = failure.Cut(what+": "+why.Error(), maxText)
	return c.putOff(w, c.u.now.Add(undecidedWait))
}

func (c control) readContext(t *task.Task) error {
	if t.Context != nil || evaluationSlot.of(c.u).bare[t.ID] {
		return nil
	}
	if err := c.u.rows.readContexts([]*task.Task{t}); err != nil {
		return err
	}
	if t.Context == nil {
		state := evaluationSlot.of(c.u)
		if state.bare == nil {
			state.bare = map[task.ID]bool{}
		}
		state.bare[t.ID] = true
	}
	return nil
}
