package scenario_test

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// childTemplates have steps that no worker runs: child tasks, waits, and steps with a condition.
func childTemplates(quick, none task.Retry) []*task.Template {
	return []*task.Template{
		{Name: "family", Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: quick},
			{Name: "sub", Dependencies: []string{"a"}, Tasks: &task.ChildSpec{Template: "chain"}},
			{Name: "b", Handler: "i", Dependencies: []string{"sub"}, Retry: none}}},
		{Name: "each", Steps: []task.StepSpec{
			{Name: "each", Tasks: &task.ChildSpec{Items: "context.items", Handler: "h", Concurrency: 2, MaxFailed: 1}},
			{Name: "strict", Tasks: &task.ChildSpec{Items: "context.items", Handler: "i", FailOnError: true, MaxFailed: 50,
				Percent: true, CountsOnly: true}},
			{Name: "b", Handler: "h", Dependencies: []string{"each", "strict"}, Retry: none}}},
		{Name: "gate", Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: quick},
			{Name: "pause", Dependencies: []string{"a"}, Wait: &task.Wait{For: 30 * time.Second}},
			{Name: "b", Handler: "i", Dependencies: []string{"a"}, When: "parents.a.result.n == 3", Retry: none},
			{Name: "approval", Dependencies: []string{"b"}, Wait: &task.Wait{Approval: "go on?", Timeout: 10 * time.Minute}},
			{Name: "c", Handler: "h", Dependencies: []string{"pause", "approval"}, Retry: none}}},
	}
}

func (m *model) noteChildren() error {
	w := m.worlds[0]
	tasks, _, err := w.engine.Tasks(w.ctx, engine.TaskFilter{Limit: 100})
	slices.Reverse(tasks)
	for _, t := range tasks {
		if t.Meta.Child != nil && !slices.Contains(m.tasks, t.ID) {
			m.tasks = append(m.tasks, t.ID)
		}
	}
	return err
}

func (w *world) addChildren(one *taskPicture) (err error) {
	if !one.Task.Meta.HasChildren {
		return nil
	}
	rows := w.store.ChildStore()
	ids := make([]task.ID, len(one.Steps))
	for i, s := range one.Steps {
		ids[i] = s.ID
	}
	if one.Fans, err = rows.FanOuts(w.ctx, ids); err != nil {
		return err
	}
	slices.SortFunc(one.Fans, func(a, b *task.FanOut) int { return bytes.Compare(a.Step[:], b.Step[:]) })
	for _, f := range one.Fans {
		list, err := rows.ListChildren(w.ctx, f.Step, engine.ChildFilter{Limit: 1000, Results: true})
		if err != nil {
			return err
		}
		one.Kids = append(one.Kids, list...)
	}
	def, err := w.engine.TemplateOf(w.ctx, one.Task.DefID)
	if err != nil || !def.CompensationOf(one.Steps).Due() {
		return err
	}
	for _, f := range one.Fans {
		i := slices.IndexFunc(one.Steps, func(s *task.Step) bool { return s.ID == f.Step })
		one.Held = one.Held || !f.AtRest(def.Spec(one.Steps[i]).Tasks)
	}
	return nil
}

// checkFamily: a step counts its children correctly, runs no more than it may, and completes only with all of them.
func (m *model) checkFamily(p taskPicture, all *picture) error {
	if len(p.Fans) == 0 {
		return nil
	}
	tpl, err := m.worlds[0].engine.TemplateOf(m.worlds[0].ctx, p.Task.DefID)
	if err != nil {
		return err
	}
	if m.unread(tpl) {
		return nil
	}
	states := map[task.ID]task.State{}
	for _, t := range all.Tasks {
		states[t.Task.ID] = t.Task.State
	}
	for _, f := range p.Fans {
		counted := task.FanOut{}
		at := 0
		for _, c := range p.Kids {
			if c.Step != f.Step {
				continue
			}
			counted.Count(task.ChildNew, c.Counted)
			if c.Index != at || c.Fresh || c.State != c.Counted {
				return fmt.Errorf("child %d of step %s is %+v", at, f.Step, c)
			}
			at++
			if s, there := states[c.Task]; there && task.ChildStateOf(s) != c.State {
				return fmt.Errorf("child %d of step %s is counted as %s; it is %s", c.Index, f.Step, c.State, s)
			}
		}
		if at != f.Submitted || counted.Running != f.Running || counted.Done != f.Done || counted.Errored != f.Errored ||
			counted.GivenUp != f.GivenUp {
			return fmt.Errorf("step %s counts %+v; there are %d: %+v", f.Step, *f, at, counted)
		}
		i := slices.IndexFunc(p.Steps, func(s *task.Step) bool { return s.ID == f.Step })
		s := p.Steps[i]
		spec := tpl.Spec(s).Tasks
		if f.Phase == task.FanJoined && (s.State != task.StepComplete || f.Submitted != f.Total) {
			return fmt.Errorf("step %s is %s with the children %+v", f.Step, s.State, *f)
		}
		if s.State == task.StepWaiting && f.Verdict(spec) != task.Going && f.Verdict(spec) != task.Stuck &&
			f.Phase == task.FanOpen {
			return fmt.Errorf("step %s waits; its children are %+v", f.Step, *f)
		}
		if s.State == task.StepWaiting && f.Phase == task.FanOpen && f.Verdict(spec) == task.Going &&
			(f.Total == task.Unlisted || f.Room(spec) > 0) {
			return fmt.Errorf("step %s has room for child tasks, and none are submitted: %+v", f.Step, *f)
		}
		if s.State.Terminal() && f.Phase != task.FanJoined && f.Running+f.Errored > 0 {
			return fmt.Errorf("step %s is %s by an act; its children are %+v", f.Step, s.State, *f)
		}
	}
	return nil
}
