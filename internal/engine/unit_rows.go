package engine

import "github.com/taskerhq/tasker/internal/model/task"

// loadedRows holds the rows that a unit has loaded. Each step and task exists once, however often it is loaded.
// Changes of a row are therefore seen by every part of the unit, and saved once.
type loadedRows struct {
	u *unit

	steps        map[task.ID]*task.Step
	tasks        map[task.ID]*task.Task
	siblingSteps map[stepKey]*task.Step   // steps of families; see unit_families.go
	families     map[task.ID][]*task.Step // families of which all steps are loaded
	lastTemplate *task.Template           // the last one used
	checkpoints  map[task.ID][]byte       // by step; nil for a step that has none

	dirtySteps map[*task.Step]struct{}
	dirtyTasks map[*task.Task]struct{}
	sorted     []*task.Task // dirtyTasks when they were evaluated
}

// newLoadedRows returns the empty rows of a unit.
func newLoadedRows(u *unit) loadedRows {
	return loadedRows{u: u,
		steps: map[task.ID]*task.Step{}, tasks: map[task.ID]*task.Task{},
		siblingSteps: map[stepKey]*task.Step{}, families: map[task.ID][]*task.Step{},
		dirtySteps: map[*task.Step]struct{}{}, dirtyTasks: map[*task.Task]struct{}{}}
}

// changedStep marks a step to be saved at the end of the unit.
func (lr *loadedRows) changedStep(s *task.Step) { lr.dirtySteps[s] = struct{}{} }

// changedTask marks a task to be saved at the end of the unit.
func (lr *loadedRows) changedTask(t *task.Task) { lr.dirtyTasks[t] = struct{}{} }

// save stores the tasks and steps of the unit. The stages before may have changed further tasks, which are sorted
// anew.
func (lr *loadedRows) save() error {
	tasks := lr.sorted
	if len(lr.dirtyTasks) > len(tasks) {
		tasks = sorted(lr.dirtyTasks, func(t *task.Task) task.ID { return t.ID })
	}
	steps := sorted(lr.dirtySteps, func(s *task.Step) task.ID { return s.ID })
	if len(tasks) > 0 {
		if err := lr.u.tx.SaveTasks(lr.u.ctx, tasks); err != nil {
			return err
		}
	}
	for _, t := range lr.u.records.contexts {
		if err := lr.u.tx.SaveContext(lr.u.ctx, t); err != nil {
			return err
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return lr.u.tx.SaveSteps(lr.u.ctx, steps)
}

// intern replaces rows that are already loaded by the loaded ones.
func (lr *loadedRows) intern(works []Work) []Work {
	for i, w := range works {
		if w.Step == nil {
			continue
		}
		works[i].Step = lr.internStep(w.Step)
		works[i].Task = lr.internTask(w.Task)
	}
	return works
}

// internStep returns the loaded step of the same ID, or adopts s as that.
// The unit's time must not lie before what its rows already show; see notBefore.
func (lr *loadedRows) internStep(s *task.Step) *task.Step {
	if have, ok := lr.steps[s.ID]; ok {
		return have
	}
	lr.steps[s.ID] = s
	lr.u.leases.noteOffer(s)
	lr.u.notBefore(max(s.ReadyAt, s.AssignedAt, s.StartedAt, s.FinishedAt))
	return s
}

// internTask does the same for a task.
func (lr *loadedRows) internTask(t *task.Task) *task.Task {
	if have, ok := lr.tasks[t.ID]; ok {
		return have
	}
	lr.tasks[t.ID] = t
	lr.u.notBefore(max(t.CreatedAt, t.StateAt, t.FinishedAt))
	return t
}

// load returns steps with their tasks, locked.
// The result is in the order of ids, with a zero Work for an unknown step.
func (lr *loadedRows) load(ids []task.ID) ([]Work, error) {
	works, err := lr.u.tx.Work(lr.u.ctx, ids)
	if err != nil {
		return nil, err
	}
	lr.u.e.queue.loadHolds(lr.u, works)
	return lr.intern(works), nil
}

// task returns a task, locked, or nil.
func (lr *loadedRows) task(id task.ID) (*task.Task, error) {
	if t := lr.tasks[id]; t != nil {
		return t, nil
	}
	t, err := lr.u.tx.Task(lr.u.ctx, id)
	if err != nil || t == nil {
		return nil, err
	}
	return lr.internTask(t), nil
}

// template returns the template of a task.
// Most units are about one template, so the last one is kept without a lock.
func (lr *loadedRows) template(def int64) (*task.Template, error) {
	if lr.lastTemplate != nil && lr.lastTemplate.DefID == def {
		return lr.lastTemplate, nil
	}
	t, err := lr.u.e.catalog.template(lr.u.ctx, def, lr.u.tx.Template)
	if err == nil {
		lr.lastTemplate = t
	}
	return t, err
}

// takeTasks loads tasks.
// It leaves their steps unread. Unknown tasks are left out.
func (lr *loadedRows) takeTasks(ids []task.ID) error {
	tasks, err := lr.u.tx.Tasks(lr.u.ctx, ids)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if t != nil {
			lr.internTask(t)
		}
	}
	return nil
}

// readContexts adds their contexts to tasks.
func (lr *loadedRows) readContexts(tasks []*task.Task) error {
	if len(tasks) == 0 {
		return nil
	}
	ids := make([]task.ID, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	contexts, err := lr.u.tx.Contexts(lr.u.ctx, ids)
	if err != nil {
		return err
	}
	for i, t := range tasks {
		t.Context = contexts[i]
	}
	return nil
}

// stepOf returns a step of a task with its task, locked.
func (lr *loadedRows) stepOf(taskID, stepID task.ID) (Work, error) {
	works, err := lr.load([]task.ID{stepID})
	if err != nil {
		return Work{}, err
	}
	if w := works[0]; w.Step != nil && w.Step.TaskID == taskID {
		return w, nil
	}
	return Work{}, task.Errorf(task.NotFound, "the task %s has no step %s", taskID, stepID)
}

// loadHeld returns the steps of a call about leases, with their refs in the same order: the
// named ones, or up to maxHeld of a worker.
func (lr *loadedRows) loadHeld(c leaseCall) ([]Work, []LeaseRef, error) {
	if c.all == 0 {
		ids := make([]task.ID, len(c.refs))
		for i, r := range c.refs {
			ids[i] = r.Step
		}
		works, err := lr.load(ids)
		return works, c.refs, err
	}
	works, err := lr.u.tx.Held(lr.u.ctx, c.all, maxHeld)
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
