package tasker

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/kit/envelope"
)

// The methods below are those of the Backend, with the Client's codec, if it has one.

// Task is the method of the Backend.
func (c *Client) Task(ctx context.Context, id uuid.UUID, wait time.Duration) (*Task, error) {
	t, err := c.Backend.Task(ctx, id, wait)
	if c.coder != nil && err == nil {
		c.coder.show(ctx, &t.Context)
	}
	return t, err
}

// Tasks is the method of the Backend.
func (c *Client) Tasks(ctx context.Context, filter TaskFilter) (*TaskPage, error) {
	page, err := c.Backend.Tasks(ctx, filter)
	if c.coder != nil && err == nil {
		for i := range page.Tasks {
			c.coder.show(ctx, &page.Tasks[i].Context)
		}
	}
	return page, err
}

// TaskHistory is the method of the Backend.
func (c *Client) TaskHistory(ctx context.Context, id uuid.UUID) (*TaskHistory, error) {
	h, err := c.Backend.TaskHistory(ctx, id)
	if c.coder != nil && err == nil {
		for i := range h.ContextEdits {
			c.coder.show(ctx, &h.ContextEdits[i].OldContext)
			c.coder.show(ctx, &h.ContextEdits[i].Merge)
		}
	}
	return h, err
}

// EditContext is the method of the Backend. CodeInvalid: a merge patch changes a part of a value that is encoded
// whole.
func (c *Client) EditContext(ctx context.Context, id uuid.UUID, req EditContextRequest) (*EditedContext, error) {
	if c.coder == nil {
		return c.Backend.EditContext(ctx, id, req)
	}
	var err error
	if req.Context, err = c.coder.encode(ctx, req.Context, c.coder.contexts); err != nil {
		return nil, located(err, "/context")
	}
	if req.Merge, err = c.coder.patch(ctx, req.Merge); err != nil {
		return nil, err
	}
	out, err := c.Backend.EditContext(ctx, id, req)
	if err == nil {
		c.coder.show(ctx, &out.Context)
		c.coder.show(ctx, &out.OldContext)
	}
	return out, err
}

// patch encodes the values of a merge patch. A value that is encoded whole cannot be changed in part.
func (k *coder) patch(ctx context.Context, patch json.RawMessage) (json.RawMessage, error) {
	var part string
	found := false
	_, err := k.contexts.Rewrite(patch, false, nil, func(pointer string, value []byte) ([]byte, error) {
		if value[0] == '{' && !found {
			part, found = pointer, true
		}
		return value, nil
	})
	switch {
	case err != nil:
		return nil, err
	case found:
		e := Errorf(CodeInvalid, "a merge patch cannot change a part of a value that is encoded whole")
		e.Hint = "give the whole context, or encode single fields"
		e.Details = []Detail{{Location: "/merge" + part, Message: "is encoded whole"}}
		return nil, e
	}
	out, err := k.encode(ctx, patch, k.contexts)
	if err != nil {
		return nil, located(err, "/merge")
	}
	return out, nil
}

// Steps is the method of the Backend.
func (c *Client) Steps(ctx context.Context, task uuid.UUID) ([]Step, error) {
	steps, err := c.Backend.Steps(ctx, task)
	if c.coder != nil && err == nil {
		for i := range steps {
			c.coder.showStep(ctx, &steps[i])
		}
	}
	return steps, err
}

// Step is the method of the Backend.
func (c *Client) Step(ctx context.Context, task, step uuid.UUID) (*Step, error) {
	s, err := c.Backend.Step(ctx, task, step)
	if c.coder != nil && err == nil {
		c.coder.showStep(ctx, s)
	}
	return s, err
}

// ActOnStep is the method of the Backend.
func (c *Client) ActOnStep(ctx context.Context, task, step uuid.UUID, act StepAction) (*Step, error) {
	if c.coder != nil && act.CompletionData != nil {
		data := *act.CompletionData
		var err error
		if data.Result, err = c.coder.encode(ctx, data.Result, c.coder.results); err != nil {
			return nil, located(err, "/completion_data/result")
		}
		act.CompletionData = &data
	}
	s, err := c.Backend.ActOnStep(ctx, task, step, act)
	if c.coder != nil && err == nil {
		c.coder.showStep(ctx, s)
	}
	return s, err
}

func (k *coder) showStep(ctx context.Context, s *Step) {
	k.show(ctx, &s.Results)
	if s.Checkpoint != nil {
		k.show(ctx, &s.Checkpoint.Value)
	}
}

// undecodedIn returns the error of the first encoded value of a document that should have none.
func undecodedIn(doc json.RawMessage) error {
	if !envelope.Within(doc) {
		return nil
	}
	if e, pointer, found := envelope.Find(doc); found {
		return &DecodeError{Pointer: pointer, Codec: e.Codec, Key: e.Key}
	}
	return nil
}
