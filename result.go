package tasker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
)

// TaskFailure is the end of a task that did not succeed: it is in error, or cancelled. Client.Result returns it inside
// an *Error with CodeWrongState; errors.As finds it, and finds its Failure as a *Failure.
type TaskFailure struct {
	TaskUUID uuid.UUID
	// State is TaskError or TaskCancelled, when Result read it. An operator may since have repaired a task in error.
	State TaskState
	// Step is the failed step: the one that Result was asked for if it failed, else the first one in template order.
	// It is "" if none has failed, as in a cancelled task.
	Step string
	// StepUUID is the zero UUID without a Step.
	StepUUID uuid.UUID
	// Failure is the last error of Step; nil if there is none.
	Failure *Failure
	// OtherSteps is the number of other steps in error.
	OtherSteps int
	// CancelledBy and CancelReason are empty unless the task is cancelled.
	CancelledBy, CancelReason string
}

// Error implements error.
func (f *TaskFailure) Error() string {
	if f.State == TaskCancelled {
		text := fmt.Sprintf("task %s was cancelled", f.TaskUUID)
		if f.CancelledBy != "" {
			text += " by " + f.CancelledBy
		}
		if f.CancelReason != "" {
			text += ": " + f.CancelReason
		}
		return text
	}
	text := fmt.Sprintf("task %s is in %s", f.TaskUUID, f.State)
	if f.Step != "" {
		text += fmt.Sprintf(": step %s failed", f.Step)
	}
	if f.Failure != nil {
		text += ": " + f.Failure.Error()
	}
	switch f.OtherSteps {
	case 0:
	case 1:
		text += " (and one other step)"
	default:
		text += fmt.Sprintf(" (and %d other steps)", f.OtherSteps)
	}
	return text
}

// Unwrap returns the Failure, so that errors.As finds it.
func (f *TaskFailure) Unwrap() error {
	if f.Failure == nil {
		return nil
	}
	return f.Failure
}

// Result waits until a task is settled and decodes the result of the step named step into out. Step "" means the only
// step of a task with one step. With out nil Result decodes nothing, and asks only whether the task succeeded.
//
// It returns nil if and only if the task is complete or resolved manually, and out has the step's result:
//
//   - A task in error or cancelled is CodeWrongState, whichever step was asked for, and out stays unchanged. errors.As
//     finds a *TaskFailure, and in it the *Failure that the worker reported. Results of steps that succeeded before
//     are in Steps. An operator may repair a task in error; to wait for that, call Result again.
//   - A step without a result is CodeNotFound: its handler returned none, or it was resolved manually. So is a step
//     that the task does not have, step "" for a task with several, and an unknown task.
//   - A result that does not fit into out is CodeInvalid; errors.As finds the error of encoding/json.
//   - When ctx ends first, the error wraps ctx.Err(). All other errors are those of Wait.
//
// Every error but the end of ctx is an *Error. A Client of a server and one of package embedded answer alike.
func (c *Client) Result(ctx context.Context, id uuid.UUID, step string, out any) error {
	t, err := c.Wait(ctx, id)
	if err != nil {
		return err
	}
	if out == nil && t.State.succeeded() {
		return nil
	}
	steps, err := c.Steps(ctx, id)
	if err != nil {
		return err
	}
	if !t.State.succeeded() {
		f := failureOfTask(t, steps, step)
		return &Error{Code: CodeWrongState, Message: f.Error(), Err: f}
	}
	s := stepNamed(steps, step)
	switch {
	case s == nil && step == "":
		e := Errorf(CodeNotFound, "task %s has %d steps", id, len(steps))
		e.Hint = "name the step whose result you want"
		return e
	case s == nil:
		return Errorf(CodeNotFound, "task %s has no step %q", id, step)
	case s.ResultsOmitted:
		if s, err = c.Step(ctx, id, s.StepUUID); err != nil {
			return err
		}
	}
	if s.LargeResult != nil {
		if s.Results, err = c.largeResult(ctx, id, s); err != nil {
			return err
		}
	}
	if len(s.Results) == 0 {
		return Errorf(CodeNotFound, "step %s of task %s is %s and has no result", s.Name, id, s.State)
	}
	if err := undecodedIn(s.Results); err != nil {
		e := Errorf(CodeInvalid, "the result of step %s of task %s: %v", s.Name, id, err)
		e.Err = err
		return e
	}
	if err := json.Unmarshal(s.Results, out); err != nil {
		e := Errorf(CodeInvalid, "decode the result of step %s of task %s: %v", s.Name, id, err)
		e.Err = err
		return e
	}
	return nil
}

// succeeded reports whether a task ended well.
func (s TaskState) succeeded() bool { return s == TaskComplete || s == TaskResolvedManually }

// stepNamed returns the step called name; "" is the only one. It returns nil if there is none.
func stepNamed(steps []Step, name string) *Step {
	if name == "" && len(steps) == 1 {
		return &steps[0]
	}
	for i := range steps {
		if name != "" && steps[i].Name == name {
			return &steps[i]
		}
	}
	return nil
}

// failureOfTask describes a task that did not succeed. asked is the step that the caller wants to know about.
func failureOfTask(t *Task, steps []Step, asked string) *TaskFailure {
	f := &TaskFailure{TaskUUID: t.TaskUUID, State: t.State, CancelledBy: t.CancelledBy, CancelReason: t.CancelReason}
	var blamed *Step
	for i := range steps {
		s := &steps[i]
		if s.State != StepError {
			continue
		}
		if blamed != nil {
			f.OtherSteps++
		}
		if blamed == nil || s.Name == asked {
			blamed = s
		}
	}
	if blamed != nil {
		f.Step, f.StepUUID, f.Failure = blamed.Name, blamed.StepUUID, blamed.LastError
	}
	return f
}
