package kernel

import "github.com/taskerhq/tasker/internal/model/task"

type trait uint16

const (
	anything trait = 1 << iota

	limitedTask // the template has limits
	ParentTask  // with child tasks
	ChildTask   // child of a step
	orderedTask
	IntakeTask    // made of a message
	checkedTask   // with checkpoints
	PendingTask   // with an open case
	limitedRoutes // with limits of operators
)

func traitsOf(t *task.Task) trait {
	has := anything
	if t.Meta.Limited {
		has |= limitedTask
	}
	if t.Meta.HasChildren {
		has |= ParentTask
	}
	if t.Meta.Child != nil {
		has |= ChildTask
	}
	if t.Meta.OrderingKey != "" {
		has |= orderedTask
	}
	if t.Meta.Intake != nil {
		has |= IntakeTask
	}
	if len(t.Meta.Checkpoints) > 0 {
		has |= checkedTask
	}
	if t.Meta.Case == task.HasPending {
		has |= PendingTask
	}
	return has
}

func (c *catalog) routeTraits() (has trait) {
	if c.Limits.Load() != nil {
		has |= limitedRoutes
	}
	return has
}

// hook is a feature's function for a moment, called about what has one of the traits.
type hook[F any] struct {
	of trait
	do F
}

func appendHook[F any](hooks []hook[F], of trait, do F) []hook[F] {
	return append(hooks, hook[F]{of, do})
}

func (k *points) TaskDrafted(u *Unit, t *task.Task, def *task.Template) {
	has := traitsOf(t)
	for i := range k.drafted {
		if k.drafted[i].of&has != 0 {
			k.drafted[i].do(u, t, def)
		}
	}
}

// stepsReady returns the steps that no feature holds back.
func (k *points) stepsReady(u *Unit, steps []Work) (_ []Work, err error) {
	for i := range k.ready {
		if steps, err = k.ready[i](u, steps); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// stepsQueued lets features park steps that are about to go to workers.
func (k *points) stepsQueued(u *Unit, steps []Work) error {
	for i := range k.queued {
		if err := k.queued[i](u, steps); err != nil {
			return err
		}
	}
	return nil
}

func (k *points) stepMoved(u *Unit, w Work, from task.StepState) {
	has := traitsOf(w.Task) | u.E.Catalog.routeTraits()
	for i := range k.moved {
		if k.moved[i].of&has != 0 {
			k.moved[i].do(u, w, from)
		}
	}
}

func (k *points) stepHanded(u *Unit, w Work, def *task.Template) {
	has := traitsOf(w.Task)
	for i := range k.handed {
		if k.handed[i].of&has != 0 {
			k.handed[i].do(u, w, def)
		}
	}
}

func (k *points) taskJudged(u *Unit, t *task.Task, before task.Task) (taken bool, err error) {
	for i := range k.judged {
		if taken, err = k.judged[i](u, t, before); taken || err != nil {
			return taken, err
		}
	}
	return false, nil
}

func (k *points) taskGivenUp(u *Unit, t *task.Task) (taken bool, err error) {
	for i := range k.givenUp {
		if taken, err = k.givenUp[i](u, t); taken || err != nil {
			return taken, err
		}
	}
	return false, nil
}

// DecideStep refuses an act that no feature of this engine carries out.
func (k *points) DecideStep(u *Unit, w Work, act StepAct) error {
	if do := k.decide[act.Kind]; do != nil {
		return do(u, w, act)
	}
	return task.Errorf(task.Invalid, "this server has no act %s on a step", act.Kind)
}

func (k *points) taskLeft(u *Unit, d Departure) {
	has := traitsOf(d.Task)
	for i := range k.left {
		if k.left[i].of&has != 0 {
			k.left[i].do(u, d)
		}
	}
}

// attemptEnded returns whether a feature spares the step.
func (k *points) attemptEnded(u *Unit, w Work, e ending) (spared bool, err error) {
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
