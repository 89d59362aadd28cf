package engine

import "github.com/taskerhq/tasker/internal/model/task"

// trait is what a step, its task or its route has to do with features: a set of bits.
type trait uint16

const (
	anything trait = 1 << iota // all have it

	limitedTask   // steps may have to pass limits of the template
	parentTask    // steps may have child tasks
	childTask     // it is the child of a step
	orderedTask   // it has an ordering key
	intakeTask    // it was made of a message
	checkedTask   // a step has stored a checkpoint
	limitedRoutes // operators limit some routes
)

// traitsOf returns the traits of a task.
func traitsOf(t *task.Task) trait {
	has := anything
	if t.Meta.Limited {
		has |= limitedTask
	}
	if t.Meta.HasChildren {
		has |= parentTask
	}
	if t.Meta.Child != nil {
		has |= childTask
	}
	if t.Meta.OrderingKey != "" {
		has |= orderedTask
	}
	if t.Meta.Intake != nil {
		has |= intakeTask
	}
	if len(t.Meta.Checkpoints) > 0 {
		has |= checkedTask
	}
	return has
}

// routeTraits returns the traits that some route of the catalog has.
func (c *catalog) routeTraits() (has trait) {
	if c.limits.Load() != nil {
		has |= limitedRoutes
	}
	return has
}

// The features that are asked at a moment, in their order.
type (
	draftedHook struct {
		of trait
		do func(*unit, *task.Task, *task.Template)
	}
	movedHook struct {
		of trait
		do func(*unit, Work, task.StepState)
	}
	leftHook struct {
		of trait
		do func(*unit, departure)
	}
	endedHook struct {
		of trait
		do func(*unit, Work, ending) (bool, error)
	}
)

// taskDrafted tells the features of a new task.
func (k *kernel) taskDrafted(u *unit, t *task.Task, def *task.Template) {
	has := traitsOf(t)
	for i := range k.drafted {
		if k.drafted[i].of&has != 0 {
			k.drafted[i].do(u, t, def)
		}
	}
}

// stepsReady gives steps that became ready to the features that may hold them back, and returns the others.
func (k *kernel) stepsReady(u *unit, steps []Work) (_ []Work, err error) {
	for i := range k.ready {
		if steps, err = k.ready[i](u, steps); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// stepsQueued shows steps that are about to go to workers to the features that may park some.
func (k *kernel) stepsQueued(u *unit, steps []Work) error {
	for i := range k.queued {
		if err := k.queued[i](u, steps); err != nil {
			return err
		}
	}
	return nil
}

// stepMoved tells the features of a step that has changed its state.
func (k *kernel) stepMoved(u *unit, w Work, from task.StepState) {
	has := traitsOf(w.Task) | u.e.catalog.routeTraits()
	for i := range k.moved {
		if k.moved[i].of&has != 0 {
			k.moved[i].do(u, w, from)
		}
	}
}

// taskLeft tells the features of a task that has changed its state.
func (k *kernel) taskLeft(u *unit, d departure) {
	has := traitsOf(d.task)
	for i := range k.left {
		if k.left[i].of&has != 0 {
			k.left[i].do(u, d)
		}
	}
}

// attemptEnded tells the features of the end of an attempt, and returns whether one of them spares the step.
func (k *kernel) attemptEnded(u *unit, w Work, e ending) (spared bool, err error) {
	has := traitsOf(w.Task)
	for i := range k.ended {
		if k.ended[i].of&has == 0 {
			continue
		}
		spares, err := k.ended[i].do(u, w, e)
		if err != nil {
			return false, err
		}
		spared = spared || spares
	}
	return spared, nil
}
