package scenario_test

import (
	"bytes"
	"errors"
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

// orphan resets a step that failed while one of its children runs, and ends it before it begins again.
func (m *model) orphan(o op) error {
	before := len(m.tasks)
	if err := errors.Join(m.accept([]engine.Submission{{Name: "each", Priority: "100",
		Context: []byte(`{"items":[1,2,3,4]}`)}}), m.do(op{kind: "upkeep", n: [6]uint32{1}})); err != nil ||
		len(m.tasks) == before {
		return err
	}
	id := m.tasks[before]
	if err := m.register(task.Worker{Name: "orphans", Capacity: 12, Handlers: []string{"i"}}); err != nil {
		return err
	}
	leases, err := m.claim(m.workers[len(m.workers)-1], 8, true)
	leases = slices.DeleteFunc(leases, func(l engine.Lease) bool {
		return l.Task.Meta.Child == nil || l.Task.Meta.Child.Task != id
	})
	if err != nil || len(leases) < 2 {
		return err
	}
	results := make([]engine.Result, len(leases)-1)
	for i, l := range leases[1:] {
		results[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultFailed,
			Failure: &task.Failure{Type: "fatal", Message: "x"}}
	}
	if err := errors.Join(m.settle(results), m.after()); err != nil {
		return err
	}
	_, rows, err := m.worlds[0].steps(id)
	at := slices.IndexFunc(rows, func(r row) bool { return r.State == task.StepErrored })
	if err != nil || at < 0 {
		return err
	}
	acts := []engine.ActKind{engine.ResetForRetry, engine.ResolveManually}
	for _, kind := range acts[:1+o.n[0]%2] {
		if _, err := both(m, func(w *world) (*task.Step, error) {
			return w.engine.Operate(w.ctx, id, rows[at].ID, engine.StepAct{Kind: kind, Actor: "ada", Reason: "because"})
		}, task.WrongState); err != nil {
			return err
		}
	}
	if o.n[0]%2 == 0 {
		if _, err := both(m, func(w *world) ([]engine.Receipt, error) {
			return w.engine.Cancel(w.ctx, []task.ID{id}, engine.Cancellation{Actor: "ada", Reason: "because"})
		}); err != nil {
			return err
		}
	}
	return firstError(m.after(), m.look())
}
