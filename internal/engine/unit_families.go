package engine

import "github.com/taskerhq/tasker/internal/task"

// A verb over many items first asks for the families of all of them, with one
// question for a store that is a round trip away; what follows finds the steps
// in hand.

// stepKey is that of a step in its task.
type stepKey struct {
	task    task.ID
	ordinal int
}

// gather takes the steps of families in hand, locked, but for those that are.
func (u *unit) gather(of []Family) error {
	var missing []Family
	for _, f := range of {
		if !u.gathered(f) {
			missing = append(missing, f)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	found, err := u.tx.Steps(missing)
	if err != nil {
		return err
	}
	u.loadHolds(worksOf(found))
	for i, steps := range found {
		for j, s := range steps {
			steps[j] = u.internStep(s)
			u.siblingSteps[stepKey{s.TaskID, s.Ordinal}] = steps[j]
		}
		if missing[i].Ordinals == nil {
			u.whole[missing[i].Task] = steps
		}
	}
	return nil
}

// worksOf are the steps of families, without their tasks.
func worksOf(families [][]*task.Step) []Work {
	var works []Work
	for _, steps := range families {
		for _, s := range steps {
			works = append(works, Work{Step: s})
		}
	}
	return works
}

func (u *unit) gathered(f Family) bool {
	if f.Ordinals == nil {
		_, ok := u.whole[f.Task]
		return ok
	}
	for _, n := range f.Ordinals {
		if u.siblingSteps[stepKey{f.Task, n}] == nil {
			return false
		}
	}
	return true
}

// siblings returns the steps of a family, locked.
func (u *unit) siblings(f Family) ([]*task.Step, error) {
	if err := u.gather([]Family{f}); err != nil {
		return nil, err
	}
	if f.Ordinals == nil {
		return u.whole[f.Task], nil
	}
	steps := make([]*task.Step, 0, len(f.Ordinals))
	for _, n := range f.Ordinals {
		if s := u.siblingSteps[stepKey{f.Task, n}]; s != nil {
			steps = append(steps, s)
		}
	}
	return steps, nil
}

// gatherTasks takes whole tasks in hand: each with all of its steps.
func (u *unit) gatherTasks(ids []task.ID) error {
	families := make([]Family, len(ids))
	for i, id := range ids {
		families[i] = Family{Task: id}
	}
	if err := u.gather(families); err != nil {
		return err
	}
	firsts := make([]task.ID, 0, len(ids))
	for _, id := range ids {
		if steps := u.whole[id]; len(steps) > 0 && u.tasks[id] == nil {
			firsts = append(firsts, steps[0].ID) // brings its task along
		}
	}
	if len(firsts) == 0 {
		return nil
	}
	_, err := u.load(firsts)
	return err
}

// children are the direct dependants of a step, parents what it depends on.
func (u *unit) children(s *task.Step) (Family, error) {
	t, err := u.template(s.DefID)
	if err != nil {
		return Family{}, err
	}
	return family(s, t.Spec(s).Children), nil
}

func (u *unit) parents(s *task.Step) (Family, error) {
	t, err := u.template(s.DefID)
	if err != nil {
		return Family{}, err
	}
	return family(s, t.Spec(s).Parents), nil
}

// family names steps of a step's task by their index in the template.
func family(s *task.Step, indices []int) Family {
	f := Family{Task: s.TaskID, Ordinals: make([]int, len(indices))}
	for i, n := range indices {
		f.Ordinals[i] = n + 1
	}
	return f
}

// gatherAll takes a family of each step in hand: its children, or its parents.
func (u *unit) gatherAll(steps []*task.Step, of func(*task.Step) (Family, error)) error {
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
	return u.gather(families)
}
