package engine

import (
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Compensation steps (task.StepSpec.OnFailure) stay pending until the outcome of their task: they begin in the
// transaction that would put it in error, or are skipped in the one that completes it.

type compensation struct{ u *unit }

func compensationFeature() feature {
	return feature{
		name: "compensation",
		enter: func(u *unit, w Work, def *task.Template) (bool, error) {
			spec := def.Spec(w.Step)
			if len(spec.Undoes) == 0 {
				return false, nil
			}
			steps, err := u.rows.siblings(Family{Task: w.Task.ID})
			if err != nil || task.Undoable(spec, steps) {
				return false, err
			}
			return true, control{u}.skip(w) // nothing to undo
		},
		givenUp: func(u *unit, t *task.Task) (bool, error) { return compensation{u}.decide(t) },
		stages: []stage{{rankCompensation, "compensation", []string{"workflow_steps"},
			func(u *unit) error { return compensation{u}.look() }}},
	}
}

// look runs before ready steps are handed out, because compensation steps may be among them.
func (c compensation) look() error {
	u := c.u
	changed := map[*task.Task]struct{}{}
	for t := range u.rows.dirtyTasks {
		def, err := u.rows.template(t.DefID)
		if err != nil {
			return err
		}
		if _, forced := u.verdicts.errored[t]; def.Compensated && !forced {
			changed[t] = struct{}{}
		}
	}
	for _, t := range sorted(changed, func(t *task.Task) task.ID { return t.ID }) {
		if _, err := c.decide(t); err != nil {
			return err
		}
	}
	return nil
}

// decide reports whether compensation begins, now or once the children are at rest. A task of which nothing can be
// undone stays as it is, for an operator to repair.
func (c compensation) decide(t *task.Task) (begins bool, err error) {
	if n := t.Counts; t.State.Terminal() || n.Active+n.Waiting > 0 || n.Pending == 0 {
		return false, nil
	}
	def, err := c.u.rows.template(t.DefID)
	if err != nil || !def.Compensated {
		return false, err
	}
	steps, err := c.u.rows.siblings(Family{Task: t.ID})
	if err != nil || len(steps) != len(def.Steps) {
		return false, err
	}
	switch now := def.CompensationOf(steps); {
	case now.Begun || now.Moving:
		return false, nil
	case now.Open == 0:
		return false, c.skip(t, def, steps)
	case !now.Due():
		return false, nil
	}
	if t.DeadlineAt != 0 { // the time limit of the task must not cut the repair off
		t.DeadlineAt = 0
		c.u.rows.changedTask(t)
	}
	if restless, err := childSlot.of(c.u).restless(t, def, steps); err != nil || restless {
		c.u.verdicts.keep(t) // until its children are at rest
		return true, err
	}
	delete(c.u.verdicts.goOn, t)
	return true, c.begin(t, def, steps)
}

func (c compensation) skip(t *task.Task, def *task.Template, steps []*task.Step) error {
	for _, s := range steps {
		if !def.Spec(s).OnFailure {
			continue
		}
		if err := s.Skip(c.u.now); err != nil {
			return err
		}
		c.u.moved(Work{s, t}, task.StepPending)
	}
	return nil
}

func (c compensation) begin(t *task.Task, def *task.Template, steps []*task.Step) error {
	u := c.u
	var failed []string
	for _, s := range steps {
		if s.State == task.StepErrored {
			failed = append(failed, def.Spec(s).Name)
		}
	}
	u.rows.changedTask(t)
	u.records.acts = append(u.records.acts, task.Act{At: u.now, TaskID: t.ID, Kind: task.ActCompensate, Actor: System,
		Reason: "failed: " + strings.Join(failed, ", "), From: string(t.State), To: string(task.StepsInProcess)})
	for _, s := range steps {
		// a skipped step may have released a later one
		if !def.Spec(s).OnFailure || s.OpenParents > 0 || s.State != task.StepPending || s.Queue != task.NoQueue {
			continue
		}
		if err := u.start(Work{s, t}); err != nil {
			return err
		}
	}
	return nil
}
