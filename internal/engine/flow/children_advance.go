package flow

import (
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/engine/submit"
	"github.com/taskerhq/tasker/internal/model/task"
)

type advance struct {
	u        *kernel.Unit
	b        *submit.Builder
	fans     []*task.FanOut
	children []kernel.Child
}

// all locks steps first, in the order of all transactions, then their children's rows, then, through the end of a
// step, the row of a task that is itself a child. It returns how many plans held.
func (a *advance) all(plans []*childPlan) (int, error) {
	u := a.u
	ids := make([]task.ID, len(plans))
	var drafts []*submit.Draft
	for i, p := range plans {
		ids[i] = p.fan.Step
		for _, d := range append(p.next, p.again...) {
			if d.draft != nil {
				drafts = append(drafts, d.draft)
			}
		}
	}
	if u.E.Cluster != nil && len(drafts) > 0 {
		if err := submit.ExpectKnown(u, drafts); err != nil {
			return 0, err
		}
	}
	works, err := u.Rows.Load(ids)
	if err != nil {
		return 0, err
	}
	fans, err := Of(u.E).childRows.FanOutsIn(u.Ctx, u.Tx, ids)
	if err != nil {
		return 0, err
	}
	of := make(map[task.ID]*task.FanOut, len(fans))
	for _, f := range fans {
		of[f.Step] = f
	}
	for i, p := range plans {
		f := of[p.fan.Step]
		if f == nil || f.Rev != p.fan.Rev || works[i].Step == nil || works[i].Step.State != p.step.State {
			continue // another transaction has changed it
		}
		if err := a.step(works[i], f, p); err != nil {
			return 0, err
		}
	}
	return len(a.fans), a.save()
}

func (a *advance) step(w kernel.Work, f *task.FanOut, p *childPlan) error {
	f.Rev++
	f.Fresh = p.left
	a.fans = append(a.fans, f)
	waits := w.Step.State == task.StepWaiting
	if p.begin != nil {
		if p.begin.fault != nil {
			return kernel.Control{U: a.u}.FailUnrun(w, p.tpl, p.begin.fault)
		}
		if f.Total == task.Unlisted { // with an edited context they are evaluated each time
			if err := Of(a.u.E).childRows.AddItems(a.u.Ctx, a.u.Tx, f.Step, p.begin.windows); err != nil {
				return err
			}
		}
		f.Total, f.Version = p.begin.total, p.begin.version
	}
	whole, err := a.count(f, p)
	if err != nil {
		return err
	}
	if !waits {
		f.Fresh = f.Fresh || !whole
		if p.over && whole && f.Running == 0 {
			a.over(w, f)
		}
		return nil
	}
	f.Again()
	if err := a.repeat(f, p); err != nil {
		return err
	}
	if f.Phase == task.FanOpen {
		if err := a.submit(f, p); err != nil {
			return err
		}
	}
	if !whole || f.Phase != task.FanOpen {
		f.Fresh = true
		return nil
	}
	return a.end(w, f, p)
}

// count counts the fresh children unchanged since the plan, and reports whether there are no others.
func (a *advance) count(f *task.FanOut, p *childPlan) (whole bool, err error) {
	list, err := Of(a.u.E).childRows.LockFresh(a.u.Ctx, a.u.Tx, f.Step, freshAtOnce)
	if err != nil {
		return false, err
	}
	whole = len(list) == len(p.fresh) && !p.left
	for _, c := range list {
		seen, found := p.fresh[c.Index]
		if !found || seen.State != c.State || seen.Task != c.Task {
			whole = false
			continue
		}
		f.Seen(c.Counted, c.State, seen.Size)
		c.Counted, c.Fresh, c.Result = c.State, false, seen.Result
		a.children = append(a.children, c)
	}
	return whole, nil
}

func (a *advance) repeat(f *task.FanOut, p *childPlan) error {
	if f.Phase != task.FanFailed {
		return nil
	}
	for _, d := range p.again {
		f.Count(task.ChildGivenUp, task.ChildNew)
		if err := a.add(f, d); err != nil {
			return err
		}
	}
	if f.Repeated = p.until; f.Repeated >= f.Total {
		f.Phase, f.Repeated = task.FanOpen, 0
	}
	return nil
}

func (a *advance) submit(f *task.FanOut, p *childPlan) error {
	for i, n := 0, f.Room(p.spec); i < min(n, len(p.next)); i++ {
		if p.next[i].index != f.Submitted {
			break
		}
		if err := a.add(f, p.next[i]); err != nil {
			return err
		}
		f.Submitted++
	}
	f.Fresh = f.Fresh || f.Room(p.spec) > 0
	return nil
}

func (a *advance) add(f *task.FanOut, d childDraft) error {
	c := kernel.Child{Step: f.Step, Index: d.index, State: task.ChildGivenUp, Note: d.note}
	if d.draft != nil {
		r, err := a.b.Add(d.draft)
		if err != nil {
			return err
		}
		c.Task, c.State, c.Note = r.ID, task.ChildStateOf(r.State), ""
	}
	c.Counted = c.State
	f.Count(task.ChildNew, c.State)
	a.children = append(a.children, c)
	return nil
}

// end ends the step if its children decide so and have not moved since the plan.
func (a *advance) end(w kernel.Work, f *task.FanOut, p *childPlan) error {
	v := f.Verdict(p.spec)
	if v != task.Joined && v != task.TooMany {
		return nil
	}
	if p.end == nil || f.Done != p.end.of.Done || f.Errored != p.end.of.Errored || f.GivenUp != p.end.of.GivenUp {
		f.Fresh = true // the next run has it
		return nil
	}
	c := childSlot.Of(a.u)
	if c.settling == nil {
		c.settling = map[task.ID]bool{}
	}
	c.settling[f.Step] = true
	if p.end.failure != nil {
		f.Phase, f.Fresh = task.FanFailed, f.Fresh || w.Task.Meta.Child != nil // the task above may be undone
		return kernel.Control{U: a.u}.FailUnrun(w, p.tpl, p.end.failure)
	}
	f.Phase = task.FanJoined
	return kernel.Control{U: a.u}.Finish(w, p.end.result)
}

func (a *advance) save() error {
	u := a.u
	if err := u.Ready.Pass(true); err != nil {
		return err
	}
	if len(a.b.Tasks) > 0 {
		if err := u.Tx.InsertTasks(u.Ctx, a.b.Tasks, a.b.Steps); err != nil {
			return err
		}
	}
	if len(a.children) > 0 {
		if err := Of(u.E).childRows.SaveChildren(u.Ctx, u.Tx, a.children); err != nil {
			return err
		}
	}
	if len(a.fans) == 0 {
		return nil
	}
	return Of(u.E).childRows.SaveFanOuts(u.Ctx, u.Tx, a.fans)
}
