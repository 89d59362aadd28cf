package tasker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/google/uuid"
)

// TaskFailure is the end of a task that is in error or cancelled. Client.Result returns it inside an *Error with
// CodeWrongState; errors.As finds it, and its Failure as a *Failure.
type TaskFailure struct {
	TaskUUID uuid.UUID
	// State is TaskError or TaskCancelled, when Result read it. An operator may since have repaired a task in error.
	State TaskState
	// Step is the failed step: the argument of Result if that failed, else the first one in template order. It is ""
	// if none has failed, as in a cancelled task.
	Step string
	// StepUUID is the zero UUID without a Step.
	StepUUID   uuid.UUID
	Failure    *Failure
	OtherSteps int
	// CancelledBy and CancelReason are empty unless the task is cancelled.
	CancelledBy, CancelReason string
}

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

func (f *TaskFailure) Unwrap() error {
	if f.Failure == nil {
		return nil
	}
	return f.Failure
}

// Result waits until a task is settled and decodes the result of the step named step into out. Step "" means the only
// step of a task with one step. With out nil Result only checks whether the task succeeded.
//
// It returns nil if and only if the task is complete or resolved manually, and out has the step's result:
//
//   - A task in error or cancelled is CodeWrongState, whatever the step, and out stays unchanged. errors.As finds a
//     *TaskFailure, and in it the worker's *Failure. Steps has the results of steps that succeeded before. An operator
//     may repair a task in error; to wait for that, call Result again.
//   - A step without a result is CodeNotFound: its handler returned none, or it was resolved manually. So is a step
//     that the task does not have, step "" for a task with several, and an unknown task.
//   - A result that does not fit into out is CodeInvalid; errors.As finds the error of encoding/json.
//   - When ctx ends first, the error wraps ctx.Err(). All other errors are those of Wait.
//
// Every error but the end of ctx is an *Error.
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

func (s TaskState) succeeded() bool { return s == TaskComplete || s == TaskResolvedManually }

// stepNamed returns nil if there is no such step; "" means the only step.
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

// failureOfTask describes a task that did not succeed; asked is the argument of Result.
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

// LargeResult describes a result above the inline limit of the server, which is kept apart in a blob store.
type LargeResult struct {
	Bytes  int64  `json:"bytes" doc:"Size of the JSON document."`
	SHA256 string `json:"sha256" doc:"SHA-256 of the document, in hexadecimal."`
}

// largeResults is an optional part of a Backend.
type largeResults interface {
	LargeResult(ctx context.Context, task, step uuid.UUID) (io.ReadCloser, error)
}

// LargeResult opens the large result of a step (Step.LargeResult) as a stream; Client.Result reads results of any
// size into memory. The caller closes it. Damaged content ends with an error instead of io.EOF. The Client's codec
// does not decode it. CodeNotFound: the step has no large result.
func (c *Client) LargeResult(ctx context.Context, task uuid.UUID, step *Step) (io.ReadCloser, error) {
	b, can := c.Backend.(largeResults)
	if !can || step.LargeResult == nil {
		return nil, Errorf(CodeNotFound, "step %s of task %s has no large result", step.Name, task)
	}
	content, err := b.LargeResult(ctx, task, step.StepUUID)
	if err != nil {
		return nil, err
	}
	return verified(content, step.LargeResult), nil
}

// verified returns a reader that ends with an error unless content is as described.
func verified(content io.ReadCloser, of *LargeResult) io.ReadCloser {
	return &verifier{ReadCloser: content, of: of, tee: sha256.New()}
}

type verifier struct {
	io.ReadCloser
	of   *LargeResult
	tee  hash.Hash
	read int64
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.read += int64(n)
	_, _ = v.tee.Write(p[:n])
	switch {
	case v.read > v.of.Bytes:
		return 0, Errorf(CodeInternal, "a large result is longer than the %d bytes that were stored", v.of.Bytes)
	case err == io.EOF && (v.read != v.of.Bytes || hex.EncodeToString(v.tee.Sum(nil)) != v.of.SHA256):
		return n, Errorf(CodeUnavailable, "a large result is not complete: %d of %d bytes came, or others than were stored",
			v.read, v.of.Bytes)
	}
	return n, err
}

// ReadAll reads a large result into memory, verifies it against l, and closes content.
func (l *LargeResult) ReadAll(content io.ReadCloser) (json.RawMessage, error) {
	defer content.Close()
	raw := make([]byte, l.Bytes)
	v := verified(content, l)
	if _, err := io.ReadFull(v, raw); err != nil {
		return nil, fmt.Errorf("read a large result: %w", err)
	}
	if _, err := v.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		if err == nil {
			err = Errorf(CodeInternal, "a large result is longer than its %d bytes", l.Bytes)
		}
		return nil, fmt.Errorf("read a large result: %w", err)
	}
	return raw, nil
}

func (c *Client) largeResult(ctx context.Context, task uuid.UUID, step *Step) (json.RawMessage, error) {
	b, can := c.Backend.(largeResults)
	if !can {
		return nil, Errorf(CodeInvalid, "the Backend of the client cannot read the large result of step %s", step.Name)
	}
	content, err := b.LargeResult(ctx, task, step.StepUUID)
	if err != nil {
		return nil, err
	}
	raw, err := step.LargeResult.ReadAll(content)
	if c.coder != nil && err == nil {
		c.coder.show(ctx, &raw)
	}
	return raw, err
}
