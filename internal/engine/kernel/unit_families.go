package kernel

import "github.com/taskerhq/tasker/internal/model/task"

// One query loads all families of a verb's items, for a store a round trip away.

type stepKey struct {
	task    task.ID
	ordinal int
}

// Gather loads and locks missing steps. Loaded rows keep their state in this transaction: see internStep.
func (lr *loadedRows) Gather(of []Family) error {
	var missing []Family
	for _, f := range of {
		if !lr.gathered(f) {
			missing = append(missing, f)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	found, err := lr.u.Tx.Steps(lr.u.Ctx, missing)
	if err != nil {
		return err
	}
	lr.u.E.Queue.loadHolds(lr.u, worksOf(found))
	for i, steps := range found {
		for j, s := range steps {
			steps[j] = lr.internStep(s)
			lr.siblingSteps[stepKey{s.TaskID, s.Ordinal}] = steps[j]
		}
		// Only a whole family answers later requests for all steps.
		if missing[i].Ordinals == nil {
			lr.Families[missing[i].Task] = steps
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
		_, ok := lr.Families[f.Task]
		return ok
	}
	for _, n := range f.Ordinals {
		if lr.siblingSteps[stepKey{f.Task, n}] == nil {
			return false
		}
	}
	return true
}

func (lr *loadedRows) Siblings(f Family) ([]*task.Step, error) {
	if err := lr.Gather([]Family{f}); err != nil {
		return nil, err
	}
	if f.Ordinals == nil {
		return lr.Families[f.Task], nil
	}
	steps := make([]*task.Step, 0, len(f.Ordinals))
	for _, n := range f.Ordinals {
		if s := lr.siblingSteps[stepKey{f.Task, n}]; s != nil {
			steps = append(steps, s)
		}
	}
	return steps, nil
}

func (lr *loadedRows) GatherTasks(ids []task.ID) error {
	families := make([]Family, len(ids))
	for i, id := range ids {
		families[i] = Family{Task: id}
	}
	if err := lr.Gather(families); err != nil {
		return err
	}
	firsts := make([]task.ID, 0, len(ids))
	for _, id := range ids {
		if steps := lr.Families[id]; len(steps) > 0 && lr.Tasks[id] == nil {
			firsts = append(firsts, steps[0].ID) // loads its task too
		}
	}
	if len(firsts) == 0 {
		return nil
	}
	_, err := lr.Load(firsts)
	return err
}

func (lr *loadedRows) children(s *task.Step) (Family, error) {
	t, err := lr.Template(s.DefID)
	if err != nil {
		return Family{}, err
	}
	return FamilyOf(s, t.Spec(s).Children), nil
}

func (lr *loadedRows) parents(s *task.Step) (Family, error) {
	t, err := lr.Template(s.DefID)
	if err != nil {
		return Family{}, err
	}
	return FamilyOf(s, t.Spec(s).Parents), nil
}

// FamilyOf takes indices in the template. Ordinals begin at 1, indices at 0.
func FamilyOf(s *task.Step, indices []int) Family {
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
	return lr.Gather(families)
}
