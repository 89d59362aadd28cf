package task

import "slices"

// A compensation step runs after its task has failed: a step is in error for good, and no other can run. It undoes what
// other steps have done, or reports the failure. Its dependencies on other compensation steps are as usual. Those on
// the other steps say what it undoes: it is skipped unless all of them are complete. (The idea is that of sagas:
// H. Garcia-Molina and K. Salem, Sagas, 1987.)

// Compensation is how far the compensation of a task has come.
type Compensation struct {
	// Begun reports whether its compensation steps have been decided on. From then on the other steps stay as they are.
	Begun bool
	// Open counts the steps that are neither compensation steps nor satisfied, and Failed those of them in error.
	Open, Failed int
	// Moving reports whether a step runs, or will without an operator.
	Moving bool
	// Applies reports whether a compensation step would have something to do.
	Applies bool
}

// Due reports whether the task has failed and its compensation is to begin. It may still be held up by child tasks:
// nothing is undone that goes on.
func (c Compensation) Due() bool { return !c.Begun && !c.Moving && c.Failed > 0 && c.Applies }

// Undoes reports whether the task has failed for good, and what it has done is undone or about to be.
func (c Compensation) Undoes() bool { return c.Begun || c.Due() }

// CompensationOf returns how far the compensation of a task has come. steps are all its steps.
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

// Compensating reports whether compensation steps of a task stand in a queue, and thus its compensation continues.
// steps are those of its steps that stand in one.
func (t *Template) Compensating(steps []*Step) bool {
	return t.Compensated && slices.ContainsFunc(steps, func(s *Step) bool {
		return s.Queue != NoQueue && t.Spec(s).OnFailure
	})
}

// Undoable reports whether all that a compensation step undoes was done. steps are all steps of its task in their
// order; a skipped step has done nothing.
func Undoable(s StepSpec, steps []*Step) bool {
	return !slices.ContainsFunc(s.Undoes, func(i int) bool { return i >= len(steps) || !steps[i].State.Done() })
}

// Reads are the steps whose results the step gets, as indexes into the steps of its template.
func (s StepSpec) Reads() []int {
	if len(s.Undoes) == 0 {
		return s.Parents
	}
	return slices.Concat(s.Parents, s.Undoes)
}
