package engine

import "github.com/taskerhq/tasker/internal/model/task"

// Registration refuses a template whose steps wait for each other. A task of such a template (stored by another way)
// runs the steps that can run. Then it is in error, with a case that names the cycle.

// inCycle reports whether no step of a task can ever move, because its steps wait for each other.
// It is asked only in states in which nothing runs, so a sound template costs one comparison.
func inCycle(u *unit, t *task.Task) (bool, error) {
	if t.State != task.WaitingForDependencies && t.State != task.EnqueuingSteps {
		return false, nil
	}
	def, err := u.rows.template(t.DefID)
	if err != nil || def.Cycle == "" {
		return false, err
	}
	steps, err := u.rows.siblings(Family{Task: t.ID})
	for _, s := range steps {
		if s.Queue != task.NoQueue {
			return false, err
		}
	}
	return true, err
}

// endCycle puts a task in error if none of its steps can move any more.
func endCycle(u *unit, t *task.Task, before task.Task) error {
	def, err := u.rows.template(t.DefID)
	if err != nil {
		return err
	}
	t.TimeOut(u.now)
	if before.State == task.Errored { // an operator's act has not helped
		t.FinishedAt, t.StateAt = before.FinishedAt, before.StateAt
		return nil
	}
	caseSlot.of(u).cycled(t, before, def)
	u.left(t, before.State, def.Cycle)
	return nil
}

// cycled opens the case that names the cycle, unless cases are off or one is pending.
func (cc *caseChanges) cycled(t *task.Task, before task.Task, def *task.Template) {
	if cc.u.e.opensCase(t) {
		cc.openings = append(cc.openings, &opening{task: t, state: before.State, since: before.StateAt,
			reason: task.ReasonCycle, cause: task.CauseCycle, detail: def.Cycle})
	}
}

// endCycle does the same for a task that is being submitted, the last one added, with the number of its steps.
// Some of the steps may be able to run; then the task continues until they are done.
func (b *builder) endCycle(t *task.Task, before task.Task, n int) {
	steps := b.steps[len(b.steps)-n:]
	for _, s := range steps {
		if s.Queue != task.NoQueue {
			return
		}
	}
	u := b.u
	t.TimeOut(u.now)
	// the rows are not in the database yet
	u.rows.tasks[t.ID], u.rows.families[t.ID] = t, steps
	def, err := u.rows.template(t.DefID)
	if err != nil { // it was named by the submission
		return
	}
	u.verdicts.err(t)
	u.rows.changedTask(t)
	caseSlot.of(u).cycled(t, before, def)
	u.left(t, before.State, def.Cycle)
}
