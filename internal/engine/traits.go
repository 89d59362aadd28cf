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
