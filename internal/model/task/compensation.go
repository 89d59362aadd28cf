package task

import "slices"

// A compensation step runs after its task failed: a step is in error permanently, and no other can run. Its
// dependencies on other steps name what it undoes: it is skipped unless all of them are complete. (This is the idea
// of sagas: Garcia-Molina and Salem, Sagas, 1987.)

// Compensation is the progress of a task's compensation.
type Compensation struct {
	// Begun means that the compensation steps are decided and the other steps no longer change.
	Begun bool
	// Open counts the unsatisfied steps without compensation steps, and Failed those in error.
	Open, Failed int
	Moving       bool
	Applies      bool
}

// Due reports whether compensation should begin. Running child tasks may still delay it.
func (c Compensation) Due() bool { return !c.Begun && !c.Moving && c.Failed > 0 && c.Applies }

// Undoes reports whether the task failed permanently and is, or will be, undone.
func (c Compensation) Undoes() bool { return c.Begun || c.Due() }

// CompensationOf needs all steps of the task.
func (t *Template) CompensationOf(steps []*Step) Compensation {
	var c Compensation
	for _, s := range steps {
		spec := t.Spec(s)
		c.Moving = c.Moving || s.Queue != NoQueue
		switch {
		case spec.OnFailure:
			c.Begun = c.Begun || !s.Untouched()
			c.Applies = c.Applies || Undoable(spec, steps)
		case !s.State.Satisfies():
			c.Open++
			if s.State == StepErrored {
				c.Failed++
			}
		}
	}
	return c
}

// Compensating reports whether a queued step is a compensation step.
func (t *Template) Compensating(steps []*Step) bool {
	return t.Compensated && slices.ContainsFunc(steps, func(s *Step) bool {
		return s.Queue != NoQueue && t.Spec(s).OnFailure
	})
}

// Undoable reports whether all that a compensation step undoes was done; a skipped step did nothing. steps are all of
// its task in order.
func Undoable(s StepSpec, steps []*Step) bool {
	return !slices.ContainsFunc(s.Undoes, func(i int) bool { return i >= len(steps) || !steps[i].State.Done() })
}

// Reads are the template indexes of the steps whose results the step receives.
func (s StepSpec) Reads() []int {
	if len(s.Undoes) == 0 {
		return s.Parents
	}
	return slices.Concat(s.Parents, s.Undoes)
}
