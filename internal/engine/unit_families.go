package engine

import "github.com/taskerhq/tasker/internal/model/task"

// One query loads all families of a verb's items, for a store a round trip away.

type stepKey struct {
	task    task.ID
	ordinal int
}

// gather loads and locks missing steps. Loaded rows keep their state in this transaction: see internStep.
func (lr *loadedRows) gather(of []Family) error {
	var missing []Family
	for _, f := range of {
		if !lr.gathered(f) {
			missing = append(missing, f)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	found, err := lr.u.tx.Steps(lr.u.ctx, missing)
	if err != nil {
		return err
	}
	lr.u.e.queue.loadHolds(lr.u, worksOf(found))
	for i, steps := range found {
		for j, s := range steps {
			steps[j] = lr.internStep(s)
			lr.siblingSteps[stepKey{s.TaskID, s.Ordinal}] = steps[j]
		}
		// Only a whole family answers later requests for all steps.
		if missing[i].Ordinals == nil {
			lr.families[missing[i].Task] = steps
		}
	}
	return nil
}

func worksOf(families [][]*task.Step) []Work {
	var works []Work
	for _, steps := range families {
		for _, s := range steps {
			works = append(works, Work{Step: s})
		}
	}
	return works
}

func (lr *loadedRows) gathered(f Family) bool {
	if f.Ordinals == nil {
		_, ok := lr.families[f.Task]
		return ok
	}
	for _, n := range f.Ordinals {
		if lr.siblingSteps[stepKey{f.Task, n}] == nil {
			return false
		}
	}
	return true
}

func (lr *loadedRows) siblings(f Family) ([]*task.Step, error) {
	if err := lr.gather([]Family{f}); err != nil {
		return nil, err
	}
	if f.Ordinals == nil {
		return lr.families[f.Task], nil
	}
	steps := make([]*task.Step, 0, len(f.Ordinals))
	for _, n := range f.Ordinals {
		if s := lr.siblingSteps[stepKey{f.Task, n}]; s != nil {
			steps = append(steps, s)
		}
	}
	return steps, nil
}

func (lr *loadedRows) gatherTasks(ids []task.ID) error {
	families := make([]Family, len(ids))
	for i, id := range ids {
		families[i] = Family{Task: id}
	}
	if err := lr.gather(families); err != nil {
		return err
	}
	firsts := make([]task.ID, 0, len(ids))
	for _, id := range ids {
		if steps := lr.families[id]; len(steps) > 0 && lr.tasks[id] == nil {
			firsts = append(firsts, steps[0].ID) // loads its task too
		}
	}
	if len(firsts) == 0 {
		return nil
	}
	_, err := lr.load(firsts)
	return err
}

func (lr *loadedRows) children(s *task.Step) (Family, error) {
	t, err := lr.template(s.DefID)
	if err != nil {
		return Family{}, err
	}
	return family(s, t.Spec(s).Children), nil
}

func (lr *loadedRows) parents(s *task.Step) (Family, error) {
	t, err := lr.template(s.DefID)
	if err != nil {
		return Family{}, err
	}
	return family(s, t.Spec(s).Parents), nil
}

// family takes indices in the template. Ordinals begin at 1, indices at 0.
func family(s *task.Step, indices []int) Family {
	f := Family{Task: s.TaskID, Ordinals: make([]int, len(indices))}
	for i, n := range indices {
		f.Ordinals[i] = n + 1
	}
	return f
}

func (lr *loadedRows) gatherAll(steps []*task.Step, of func(*task.Step) (Family, error)) error {
	var families []Family
	for _, s := range steps {
		f, err := of(s)
		if err != nil {
			return err
		}
		if len(f.Ordinals) > 0 {
			families = append(families, f)
		}
	}
	return lr.gather(families)
}
