package kernel

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

type Control struct{ U *Unit }

type controlled struct {
	ended   []Work // ended without a worker; their dependants are not released yet
	running bool
}

var controlSlot = NewSlot(func(*Unit) *controlled { return &controlled{} })

func (c Control) state() *controlled { return controlSlot.Of(c.U) }

func (c Control) enter(w Work) error {
	t, err := c.U.Rows.Template(w.Step.DefID)
	if err != nil {
		return err
	}
	if t.Controlled {
		return c.begin(w, t)
	}
	return c.enqueue(w)
}

func (c Control) enqueue(w Work) error {
	from := w.Step.State
	if err := w.Step.Enqueue(c.U.Now, c.U.Order); err != nil {
		return err
	}
	if from == task.StepWaitingForRetry {
		c.U.recalculate(w)
	}
	c.U.Moved(w, from)
	return nil
}

func (c Control) due(w Work) error {
	t, err := c.U.Rows.Template(w.Step.DefID)
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
		c.U.Moved(w, from)
		return c.beginKind(w, t)
	}
	return c.begin(w, t)
}

func (c Control) begin(w Work, t *task.Template) error {
	for _, enter := range c.U.E.Points.enter {
		if taken, err := enter(c.U, w, t); taken || err != nil {
			return err
		}
	}
	return c.beginKind(w, t)
}

func (c Control) beginKind(w Work, t *task.Template) error {
	kind := t.Spec(w.Step).Kind()
	if kind == task.KindWork {
		return c.enqueue(w)
	}
	if r, ok := c.U.E.Points.runs[kind]; ok {
		return r.Begin(c.U, w, t)
	}
	return c.FailUnrun(w, t, unknownKind(kind))
}

func (c Control) wakeKind(w Work, t *task.Template) error {
	kind := t.Spec(w.Step).Kind()
	if r := c.U.E.Points.runs[kind]; r.Wake != nil {
		return r.Wake(c.U, w, t)
	}
	return c.FailUnrun(w, t, unknownKind(kind))
}

func unknownKind(kind task.Kind) *task.Failure {
	return &task.Failure{Type: "unknown_kind", Code: "UNKNOWN_KIND", Class: failure.Logic,
		Message: fmt.Sprintf("this version of the server runs no steps of kind %q", kind)}
}

func (c Control) PutOff(w Work, at task.Instant) error {
	w.Step.Schedule(at)
	c.U.Rows.ChangedStep(w.Step)
	c.U.Wake.DueAt(at)
	return nil
}

func (c Control) Skip(w Work) error {
	from := w.Step.State
	if err := w.Step.Skip(c.U.Now); err != nil {
		return err
	}
	c.U.Moved(w, from)
	return c.release(w)
}

// Await begins an attempt of a step that no worker runs. Timers look at it at until (0: never).
func (c Control) Await(w Work, until task.Instant) error {
	from := w.Step.State
	w.Step.Unrun(c.U.Now)
	if err := w.Step.Await(c.U.Now, until); err != nil {
		return err
	}
	c.U.Moved(w, from)
	return nil
}

func (c Control) Finish(w Work, result []byte) error {
	from := w.Step.State
	if err := w.Step.Succeed(c.U.Now, result); err != nil {
		return err
	}
	c.U.Moved(w, from)
	return c.release(w)
}

// FailUnrun retries as the step's policy says. A failure before an attempt is recorded too.
func (c Control) FailUnrun(w Work, t *task.Template, f *task.Failure) error {
	s, from := w.Step, w.Step.State
	if from == task.StepPending { // the record has its own number
		s.Token++
		s.WorkerNo, s.AssignedAt, s.StartedAt = 0, 0, 0
	}
	f.Trim()
	f.Class = task.ClassOf(f)
	attempt := s.EndAttempt(c.U.Now, task.Failed, f)
	var err error
	if f.Retryable && s.Attempts < c.U.E.allowed(w, t, f.Class) {
		err = s.Wait(c.U.Now.Add(c.U.delay(s, t, f)))
	} else {
		err = s.Exhaust(c.U.Now)
	}
	if err != nil {
		return err
	}
	s.FinishedAt = c.U.Now
	c.U.ended(w, from, attempt)
	return nil
}

// release processes steps that end in turn in the outermost call, so a long chain is no deep recursion.
func (c Control) release(w Work) error {
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
		t, err := c.U.Rows.Template(next.Step.DefID)
		if err != nil {
			return err
		}
		if err := c.U.Satisfied(next, t); err != nil {
			return err
		}
	}
	return nil
}

// BeginDue begins a first step before the timers, for a decision about it.
func (c Control) BeginDue(w Work) error {
	s := w.Step
	if s.State != task.StepPending || s.Queue != task.Timers || task.Instant(s.Key) > c.U.Now || w.Task.State.Terminal() {
		return nil
	}
	return c.due(w)
}
