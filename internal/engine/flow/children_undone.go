package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/acts"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Before a task compensates, its children come to rest: nothing is undone that still runs, and no child begins
// afterwards. Children not begun and those in error are cancelled. A running one is cut off, and undoes its work if
// its template can. Grandchildren come first. The task waits while restless, and AdvanceChildren does the rest
// (undoes, windDown and over).

const codeUndone = "PARENT_FAILED"

// restless reports whether something below the steps of a failed task may still run. It marks the task for
// AdvanceChildren.
func (c *children) restless(t *task.Task, def *task.Template, steps []*task.Step) (bool, error) {
	if !t.Meta.HasChildren {
		return false, nil
	}
	of := map[task.ID]*task.Step{}
	var ids []task.ID
	for _, s := range steps {
		if spec := def.Spec(s); spec.Tasks != nil && !spec.OnFailure && s.State != task.StepPending {
			of[s.ID] = s
			ids = append(ids, s.ID)
		}
	}
	if len(ids) == 0 {
		return false, nil
	}
	fans, err := Of(c.u.E).childRows.FanOutsIn(c.u.Ctx, c.u.Tx, ids)
	if err != nil {
		return false, err
	}
	found := false
	for _, f := range fans {
		if s := of[f.Step]; !f.AtRest(def.Spec(s).Tasks) {
			found = true
			c.wake(s)
		}
	}
	return found, nil
}

// undoes reports whether the work of a step is, or will be, undone: its task or one above failed and compensates.
func (e *Room) undoes(ctx context.Context, t *task.Task, def *task.Template, s *task.Step) (bool, error) {
	for {
		if s.Queue != task.NoQueue || s.State == task.StepPending || def.Spec(s).OnFailure {
			return false, nil
		}
		steps, err := e.Store.FindSteps(ctx, t.ID)
		if err != nil {
			return false, err
		}
		if !t.State.Terminal() && def.Compensated && def.CompensationOf(steps).Undoes() {
			return true, nil
		}
		above := t.Meta.Child
		if above == nil || !t.State.Settled() {
			return false, nil
		}
		if t, err = e.Store.FindTask(ctx, above.Task); err != nil || t == nil {
			return false, err
		}
		if def, err = e.TemplateOf(ctx, t.DefID); err != nil {
			return false, err
		}
		if steps, err = e.Store.FindSteps(ctx, t.ID); err != nil {
			return false, err
		}
		at := slices.IndexFunc(steps, func(s *task.Step) bool { return s.ID == above.Step })
		if at < 0 {
			return false, nil
		}
		s = steps[at]
	}
}

// undone leaves errors below the step to the operator.
func (p *childPlan) undone() bool { return p.fan.Phase == task.FanOver && p.parent.Meta.Child != nil }

// windDown clears over while children run, and sets left if it changed some.
func (e *Room) windDown(ctx context.Context, p *childPlan) error {
	filter := kernel.ChildFilter{Limit: kernel.ItemWindow}
	if p.spec.Handler != "" { // ended ones have no children
		filter.States = []task.ChildState{task.ChildRunning, task.ChildErrored}
	}
	why := fmt.Sprintf("the task above it has failed: %s %s", p.tpl.Name, p.parent.ID)
	for {
		list, err := e.childReads.ListChildren(ctx, p.fan.Step, filter)
		if err != nil || len(list) == 0 {
			return err
		}
		filter.From = list[len(list)-1].Index + 1
		var ids []task.ID
		for _, c := range list {
			if !c.Task.IsZero() {
				ids = append(ids, c.Task)
			}
		}
		var changed, restless bool
		err = e.Write(ctx, "wind_down", func(u *kernel.Unit) (err error) {
			changed, restless, err = childSlot.Of(u).windDown(p.fan, ids, why)
			return err
		})
		if err != nil {
			return err
		}
		p.left, p.over = p.left || changed, p.over && !restless
	}
}

func (c *children) windDown(of *task.FanOut, ids []task.ID, why string) (changed, restless bool, err error) {
	if same, err := c.unmoved(of); err != nil || !same {
		return true, true, err
	}
	if err := c.u.Rows.GatherTasks(ids); err != nil {
		return false, false, err
	}
	for _, id := range ids {
		t, err := c.u.Rows.Task(id)
		if err != nil {
			return false, false, err
		}
		if t == nil {
			continue
		}
		did, runs, err := c.windDownOne(t, why)
		if err != nil {
			return false, false, err
		}
		changed, restless = changed || did, restless || runs
	}
	return changed, restless, nil
}

func (c *children) windDownOne(t *task.Task, why string) (changed, restless bool, err error) {
	u := c.u
	def, err := u.Rows.Template(t.DefID)
	if err != nil {
		return false, false, err
	}
	steps, err := u.Rows.Siblings(kernel.Family{Task: t.ID})
	if err != nil {
		return false, false, err
	}
	if now := def.CompensationOf(steps); def.Compensated && !t.State.Terminal() {
		if now.Begun || now.Due() && !t.State.Settled() { // it undoes itself
			return false, !t.State.Settled(), nil
		}
		if !t.State.Settled() && now.Applies && touched(steps) {
			return true, true, c.cutOff(t, why)
		}
	}
	if t.Meta.HasChildren && !t.State.Settled() {
		return true, true, c.cutOff(t, why)
	}
	if restless, err := c.restless(t, def, steps); err != nil || restless || t.State.Terminal() {
		return false, restless, err
	}
	_, err = acts.Cancel(u, t.ID, acts.Cancellation{Actor: kernel.System, Reason: why})
	return true, false, err
}

func (c *children) cutOff(t *task.Task, why string) error {
	f := &task.Failure{Type: "parent_failed", Code: codeUndone, Class: failure.Logic, Message: why}
	f.Trim()
	return kernel.GiveUp(c.u, t, f, why)
}

func touched(steps []*task.Step) bool {
	return slices.ContainsFunc(steps, func(s *task.Step) bool { return s.Had() || s.State.Done() })
}

// over marks the task of the step, and the one above, which may have waited for this.
func (a *advance) over(w kernel.Work, f *task.FanOut) {
	f.Phase = task.FanOver
	a.u.Rows.ChangedTask(w.Task)
	if w.Task.Meta.Child != nil {
		childSlot.Of(a.u).mark(w.Task)
	}
}
