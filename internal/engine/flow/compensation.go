package flow

import (
	"strings"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Compensation steps (task.StepSpec.OnFailure) stay pending until the outcome of their task: they begin in the
// transaction that would put it in error, or are skipped in the one that completes it.

type compensation struct{ u *kernel.Unit }

func CompensationFeature() kernel.Feature {
	return kernel.Feature{
		Name: "compensation",
		Enter: func(u *kernel.Unit, w kernel.Work, def *task.Template) (bool, error) {
			spec := def.Spec(w.Step)
			if len(spec.Undoes) == 0 {
				return false, nil
			}
			steps, err := u.Rows.Siblings(kernel.Family{Task: w.Task.ID})
			if err != nil || task.Undoable(spec, steps) {
				return false, err
			}
			return true, kernel.Control{U: u}.Skip(w) // nothing to undo
		},
		GivenUp: func(u *kernel.Unit, t *task.Task) (bool, error) { return compensation{u}.decide(t) },
		Stages: []kernel.Stage{{Rank: kernel.RankCompensation, Name: "compensation", Locks: []string{"workflow_steps"},
			Save: func(u *kernel.Unit) error { return compensation{u}.look() }}},
	}
}

// look runs before ready steps are handed out, because compensation steps may be among them.
func (c compensation) look() error {
	u := c.u
	changed := map[*task.Task]struct{}{}
	for t := range u.Rows.DirtyTasks {
		def, err := u.Rows.Template(t.DefID)
		if err != nil {
			return err
		}
		if _, forced := u.Verdicts.Errored[t]; def.Compensated && !forced {
			changed[t] = struct{}{}
		}
	}
	for _, t := range kernel.Sorted(changed, func(t *task.Task) task.ID { return t.ID }) {
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
	def, err := c.u.Rows.Template(t.DefID)
	if err != nil || !def.Compensated {
		return false, err
	}
	steps, err := c.u.Rows.Siblings(kernel.Family{Task: t.ID})
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
		c.u.Rows.ChangedTask(t)
	}
	if restless, err := childSlot.Of(c.u).restless(t, def, steps); err != nil || restless {
		c.u.Verdicts.Keep(t) // until its children are at rest
		return true, err
	}
	delete(c.u.Verdicts.GoOn, t)
	return true, c.begin(t, def, steps)
}

func (c compensation) skip(t *task.Task, def *task.Template, steps []*task.Step) error {
	for _, s := range steps {
		if !def.Spec(s).OnFailure {
			continue
		}
		if err := s.Skip(c.u.Now); err != nil {
			return err
		}
		c.u.Moved(kernel.Work{Step: s, Task: t}, task.StepPending)
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
	u.Rows.ChangedTask(t)
	u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, TaskID: t.ID, Kind: task.ActCompensate,
		Actor:  kernel.System,
		Reason: "failed: " + strings.Join(failed, ", "), From: string(t.State), To: string(task.StepsInProcess)})
	for _, s := range steps {
		// a skipped step may have released a later one
		if !def.Spec(s).OnFailure || s.OpenParents > 0 || s.State != task.StepPending || s.Queue != task.NoQueue {
			continue
		}
		if err := u.Start(kernel.Work{Step: s, Task: t}); err != nil {
			return err
		}
	}
	return nil
}
