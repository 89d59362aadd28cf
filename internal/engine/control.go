package engine

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The engine looks at some pending steps before they become ready: those with a condition, and those that no worker
// runs (Template.Controlled). As first steps of a submission they are left to the timers, because their rows are not
// stored yet.
//
// A step that no worker runs begins in beginKind, continues in wakeKind, and ends with finish or failUnrun.

type control struct{ u *unit }

type controlled struct {
	ended   []Work // ended without a worker; their dependants are not released yet
	running bool
}

var controlSlot = newSlot(func(*unit) *controlled { return &controlled{} })

func (c control) state() *controlled { return controlSlot.of(c.u) }

func (c control) enter(w Work) error {
	t, err := c.u.rows.template(w.Step.DefID)
	if err != nil {
		return err
	}
	if t.Controlled {
		return c.begin(w, t)
	}
	return c.enqueue(w)
}

func (c control) enqueue(w Work) error {
	from := w.Step.State
	if err := w.Step.Enqueue(c.u.now, c.u.order); err != nil {
		return err
	}
	if from == task.StepWaitingForRetry {
		c.u.recalculate(w)
	}
	c.u.moved(w, from)
	return nil
}

func (c control) due(w Work) error {
	t, err := c.u.rows.template(w.Step.DefID)
	if err != nil {
		return err
	}
	if !t.Controlled || w.Step.State == task.StepWaitingForRetry && t.Spec(w.Step).Worked() {
		return c.enqueue(w)
	}
	if w.Step.Queue != task.Timers { // an earlier step of this batch has changed it
		return nil
	}
	switch from := w.Step.State; from {
	case task.StepWaiting:
		return c.wakeKind(w, t)
	case task.StepWaitingForRetry:
		if err := w.Step.Again(); err != nil {
			return err
		}
		c.u.moved(w, from)
		return c.beginKind(w, t)
	}
	return c.begin(w, t)
}

func (c control) begin(w Work, t *task.Template) error {
	for _, enter := range c.u.e.points.enter {
		if taken, err := enter(c.u, w, t); taken || err != nil {
			return err
		}
	}
	return c.beginKind(w, t)
}

func (c control) beginKind(w Work, t *task.Template) error {
	kind := t.Spec(w.Step).Kind()
	if kind == task.KindWork {
		return c.enqueue(w)
	}
	if r, ok := c.u.e.points.runs[kind]; ok {
		return r.begin(c.u, w, t)
	}
	return c.failUnrun(w, t, unknownKind(kind))
}

func (c control) wakeKind(w Work, t *task.Template) error {
	kind := t.Spec(w.Step).Kind()
	if r := c.u.e.points.runs[kind]; r.wake != nil {
		return r.wake(c.u, w, t)
	}
	return c.failUnrun(w, t, unknownKind(kind))
}

func unknownKind(kind task.Kind) *task.Failure {
	return &task.Failure{Type: "unknown_kind", Code: "UNKNOWN_KIND", Class: failure.Logic,
		Message: fmt.Sprintf("this version of the server runs no steps of kind %q", kind)}
}

func (c control) putOff(w Work, at task.Instant) error {
	w.Step.Schedule(at)
	c.u.rows.changedStep(w.Step)
	c.u.wake.dueAt(at)
	return nil
}

func (c control) skip(w Work) error {
	from := w.Step.State
	if err := w.Step.Skip(c.u.now); err != nil {
		return err
	}
	c.u.moved(w, from)
	return c.release(w)
}

// await begins an attempt of a step that no worker runs. Timers look at it at until (0: never).
func (c control) await(w Work, until task.Instant) error {
	from := w.Step.State
	w.Step.Unrun(c.u.now)
	if err := w.Step.Await(c.u.now, until); err != nil {
		return err
	}
	c.u.moved(w, from)
	return nil
}

func (c control) finish(w Work, result []byte) error {
	from := w.Step.State
	if err := w.Step.Succeed(c.u.now, result); err != nil {
		return err
	}
	c.u.moved(w, from)
	return c.release(w)
}

// failUnrun retries as the step's policy says. A failure before an attempt is recorded too.
func (c control) failUnrun(w Work, t *task.Template, f *task.Failure) error {
	s, from := w.Step, w.Step.State
	if from == task.StepPending { // the record has its own number
		s.Token++
		s.WorkerNo, s.AssignedAt, s.StartedAt = 0, 0, 0
	}
	f.Trim()
	f.Class = task.ClassOf(f)
	attempt := s.EndAttempt(c.u.now, task.Failed, f)
	var err error
	if f.Retryable && s.Attempts < c.u.e.allowed(w, t, f.Class) {
		err = s.Wait(c.u.now.Add(c.u.delay(s, t, f)))
	} else {
		err = s.Exhaust(c.u.now)
	}
	if err != nil {
		return err
	}
	s.FinishedAt = c.u.now
	c.u.ended(w, from, attempt)
	return nil
}

// release processes steps that end in turn in the outermost call, so a long chain is no deep recursion.
func (c control) release(w Work) error {
	state := c.state()
	state.ended = append(state.ended, w)
	if state.running {
		return nil
	}
	state.running = true
	defer func() { state.running = false }()
	for len(state.ended) > 0 {
		next := state.ended[0]
		state.ended = state.ended[1:]
		t, err := c.u.rows.template(next.Step.DefID)
		if err != nil {
			return err
		}
		if err := c.u.satisfied(next, t); err != nil {
			return err
		}
	}
	return nil
}

// beginDue begins a first step before the timers, for a decision about it.
func (c control) beginDue(w Work) error {
	s := w.Step
	if s.State != task.StepPending || s.Queue != task.Timers || task.Instant(s.Key) > c.u.now || w.Task.State.Terminal() {
		return nil
	}
	return c.due(w)
}
