package engine

import (
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/limit"
	"github.com/taskerhq/tasker/internal/task"
)

// beginWait lets a pending step wait, or ends its wait at once if its time has passed.
func (c *control) beginWait(w Work, t *task.Template) error {
	wait := t.Spec(w.Step).Wait
	if wait.ReadsContext() && w.Task.Context == nil {
		if err := c.u.rows.readContexts([]*task.Task{w.Task}); err != nil {
			return err
		}
	}
	until, err := textOf(wait.Until, w.Task.Context)
	var ends task.Instant
	if err == nil {
		ends, err = wait.Ends(c.u.now, until)
	}
	if err != nil {
		return c.failUnrun(w, t, task.WaitFailure(task.CodeWaitInvalid, fmt.Sprintf("the time of step %s: %v",
			t.Spec(w.Step).Name, err)))
	}
	return c.await(w, ends)
}

// expireWait ends a wait at the end of its time.
func (c *control) expireWait(w Work, t *task.Template) error {
	result, f := t.Spec(w.Step).Wait.Expired()
	if f != nil {
		return c.failUnrun(w, t, f)
	}
	return c.finish(w, result)
}

// textOf returns a text with the values of a context in its places.
func textOf(text string, context []byte) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	key, err := limit.ParseKey(text)
	if err != nil {
		return "", err
	}
	return key.Text(context)
}

// decide approves or rejects a step that waits for an approval.
func (c *control) decide(w Work, a StepAct) error {
	t, err := c.u.rows.template(w.Step.DefID)
	if err != nil {
		return err
	}
	wait := t.Spec(w.Step).Wait
	if w.Step.State != task.StepWaiting || wait == nil || wait.Kind() != task.WaitApproval {
		return &task.Error{Code: task.WrongState,
			Message: fmt.Sprintf("the step is %s and does not wait for an approval", w.Step.State),
			Hint:    "another operator may have decided, or its time is over; see the history of the task"}
	}
	from := w.Step.State
	result, f, err := wait.Decide(task.Decision{Approved: a.Kind == ApproveStep, Actor: a.Actor, Reason: a.Reason,
		At: c.u.now.Time()})
	switch {
	case err != nil:
		return err
	case f != nil:
		err = c.failUnrun(w, t, f)
	default:
		err = c.finish(w, result)
	}
	if err != nil {
		return err
	}
	c.u.records.acts = append(c.u.records.acts, task.Act{At: c.u.now, TaskID: w.Task.ID, StepID: w.Step.ID,
		Kind: string(a.Kind), Actor: a.Actor, Reason: a.Reason, From: string(from), To: string(w.Step.State)})
	return nil
}
