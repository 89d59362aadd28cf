package flow

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func ConditionsFeature() kernel.Feature {
	return kernel.Feature{
		Name: "conditions",
		Enter: func(u *kernel.Unit, w kernel.Work, def *task.Template) (bool, error) {
			spec := def.Spec(w.Step)
			if spec.When == "" && (spec.Wait == nil || !spec.Wait.ReadsContext()) {
				return false, nil
			}
			if c := (kernel.Control{U: u}); evaluationSlot.Of(u).work >= workAtOnce {
				return true, queueUp(c, w)
			} else if spec.When != "" {
				return decideCondition(c, w, def)
			}
			return false, nil
		},
	}
}

// decideCondition takes the step unless its condition holds.
func decideCondition(c kernel.Control, w kernel.Work, t *task.Template) (taken bool, err error) {
	when := t.Spec(w.Step).When
	holds, fault, err := holds(c, w, t, when)
	switch {
	case err != nil:
		return true, err
	case undecided(fault):
		return true, leaveAlone(c, w, "its condition is not decided", fault)
	case fault != nil:
		return true, failCondition(c, w, t, "when", when, fault)
	}
	w.Step.Note = ""
	if !holds {
		return true, c.Skip(w)
	}
	return false, nil
}

const codeCondition = "EXPRESSION"

// failCondition does not retry: the values stay the same until an operator edits the input.
func failCondition(c kernel.Control, w kernel.Work, t *task.Template, field, text string, err error) error {
	return c.FailUnrun(w, t, &task.Failure{Type: "expression_error", Code: codeCondition, Class: failure.Logic,
		Message: fmt.Sprintf("%s of step %s cannot be evaluated: %v, in: %s", field, t.Spec(w.Step).Name, err, text)})
}

func holds(c kernel.Control, w kernel.Work, t *task.Template, when string) (holds bool, fault, err error) {
	p, fault := Of(c.U.E).programOf(when)
	if fault != nil {
		return false, fault, nil
	}
	if p.ReadsContext() {
		if err := readContext(c, w.Task); err != nil {
			return false, nil, err
		}
	}
	steps, err := c.U.Rows.Siblings(kernel.FamilyOf(w.Step, t.Named(p.Steps())))
	if err != nil {
		return false, nil, err
	}
	values, fault := evaluationSlot.Of(c.U).values(p, t, w.Task, steps)
	if fault != nil {
		return false, fault, nil
	}
	work := p.Work(values)
	evaluationSlot.Of(c.U).work += work
	backlogOf(c, w.Task).each = work
	holds, fault = p.Bool(values)
	return holds, fault, nil
}

// leaveAlone neither charges nor fails the step, because consequences such as compensation could not be undone.
func leaveAlone(c kernel.Control, w kernel.Work, what string, why error) error {
	w.Step.Note = failure.Cut(what+": "+why.Error(), kernel.MaxText)
	return c.PutOff(w, c.U.Now.Add(kernel.UndecidedWait))
}

func readContext(c kernel.Control, t *task.Task) error {
	if t.Context != nil || evaluationSlot.Of(c.U).bare[t.ID] {
		return nil
	}
	if err := c.U.Rows.ReadContexts([]*task.Task{t}); err != nil {
		return err
	}
	if t.Context == nil {
		state := evaluationSlot.Of(c.U)
		if state.bare == nil {
			state.bare = map[task.ID]bool{}
		}
		state.bare[t.ID] = true
	}
	return nil
}
