package kernel

import "github.com/taskerhq/tasker/internal/model/task"

// loadedRows has each loaded step and task once, so all parts of the unit see its changes.
type loadedRows struct {
	u *Unit

	Steps        map[task.ID]*task.Step
	Tasks        map[task.ID]*task.Task
	siblingSteps map[stepKey]*task.Step
	Families     map[task.ID][]*task.Step
	lastTemplate *task.Template     // the last one used
	checkpoints  map[task.ID][]byte // nil: none

	dirtySteps map[*task.Step]struct{}
	DirtyTasks map[*task.Task]struct{}
	sorted     []*task.Task // dirtyTasks when evaluated
}

func newLoadedRows(u *Unit) loadedRows {
	return loadedRows{u: u,
		Steps: map[task.ID]*task.Step{}, Tasks: map[task.ID]*task.Task{},
		siblingSteps: map[stepKey]*task.Step{}, Families: map[task.ID][]*task.Step{},
		dirtySteps: map[*task.Step]struct{}{}, DirtyTasks: map[*task.Task]struct{}{}}
}

func (lr *loadedRows) ChangedStep(s *task.Step) { lr.dirtySteps[s] = struct{}{} }

func (lr *loadedRows) ChangedTask(t *task.Task) { lr.DirtyTasks[t] = struct{}{} }

// Earlier stages may have changed further tasks, which are sorted again.
func (lr *loadedRows) save() error {
	tasks := lr.sorted
	if len(lr.DirtyTasks) > len(tasks) {
		tasks = Sorted(lr.DirtyTasks, func(t *task.Task) task.ID { return t.ID })
	}
	steps := Sorted(lr.dirtySteps, func(s *task.Step) task.ID { return s.ID })
	if len(tasks) > 0 {
		if err := lr.u.Tx.SaveTasks(lr.u.Ctx, tasks); err != nil {
			return err
		}
	}
	for _, t := range lr.u.Records.Contexts {
		if err := lr.u.Tx.SaveContext(lr.u.Ctx, t); err != nil {
			return err
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return lr.u.Tx.SaveSteps(lr.u.Ctx, steps)
}

func (lr *loadedRows) intern(works []Work) []Work {
	for i, w := range works {
		if w.Step == nil {
			continue
		}
		works[i].Step = lr.internStep(w.Step)
		works[i].Task = lr.InternTask(w.Task)
	}
	return works
}

// The unit's time must not precede its rows; see notBefore.
func (lr *loadedRows) internStep(s *task.Step) *task.Step {
	if have, ok := lr.Steps[s.ID]; ok {
		return have
	}
	lr.Steps[s.ID] = s
	lr.u.leases.noteOffer(s)
	lr.u.notBefore(max(s.ReadyAt, s.AssignedAt, s.StartedAt, s.FinishedAt))
	return s
}

func (lr *loadedRows) InternTask(t *task.Task) *task.Task {
	if have, ok := lr.Tasks[t.ID]; ok {
		return have
	}
	lr.Tasks[t.ID] = t
	lr.u.notBefore(max(t.CreatedAt, t.StateAt, t.FinishedAt))
	return t
}

// Load returns locked steps in the order of ids, the zero Work for an unknown one.
func (lr *loadedRows) Load(ids []task.ID) ([]Work, error) {
	works, err := lr.u.Tx.Work(lr.u.Ctx, ids)
	if err != nil {
		return nil, err
	}
	lr.u.E.Queue.loadHolds(lr.u, works)
	return lr.intern(works), nil
}

func (lr *loadedRows) Task(id task.ID) (*task.Task, error) {
	if t := lr.Tasks[id]; t != nil {
		return t, nil
	}
	t, err := lr.u.Tx.Task(lr.u.Ctx, id)
	if err != nil || t == nil {
		return nil, err
	}
	return lr.InternTask(t), nil
}

// Most units concern one template, which is kept without a lock.
func (lr *loadedRows) Template(def int64) (*task.Template, error) {
	if lr.lastTemplate != nil && lr.lastTemplate.DefID == def {
		return lr.lastTemplate, nil
	}
	t, err := lr.u.E.Catalog.template(lr.u.Ctx, def, lr.u.Tx.Template)
	if err == nil {
		lr.lastTemplate = t
	}
	return t, err
}

func (lr *loadedRows) TakeTasks(ids []task.ID) error {
	tasks, err := lr.u.Tx.Tasks(lr.u.Ctx, ids)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if t != nil {
			lr.InternTask(t)
		}
	}
	return nil
}

func (lr *loadedRows) ReadContexts(tasks []*task.Task) error {
	if len(tasks) == 0 {
		return nil
	}
	ids := make([]task.ID, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	contexts, err := lr.u.Tx.Contexts(lr.u.Ctx, ids)
	if err != nil {
		return err
	}
	for i, t := range tasks {
		t.Context = contexts[i]
	}
	return nil
}

func (lr *loadedRows) stepOf(taskID, stepID task.ID) (Work, error) {
	works, err := lr.Load([]task.ID{stepID})
	if err != nil {
		return Work{}, err
	}
	if w := works[0]; w.Step != nil && w.Step.TaskID == taskID {
		return w, nil
	}
	return Work{}, task.Errorf(task.NotFound, "the task %s has no step %s", taskID, stepID)
}

// loadHeld returns the named steps and refs, or up to maxHeld of a worker.
func (lr *loadedRows) loadHeld(c leaseCall) ([]Work, []LeaseRef, error) {
	if c.all == 0 {
		ids := make([]task.ID, len(c.refs))
		for i, r := range c.refs {
			ids[i] = r.Step
		}
		works, err := lr.Load(ids)
		return works, c.refs, err
	}
	works, err := lr.u.Tx.Held(lr.u.Ctx, c.all, maxHeld)
	if err != nil {
		return nil, nil, err
	}
	lr.intern(works)
	refs := make([]LeaseRef, len(works))
	for i, w := range works {
		refs[i] = LeaseRef{Step: w.Step.ID, Token: w.Step.Token, Worker: c.all}
	}
	return works, refs, nil
}
