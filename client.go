package tasker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Client submits tasks and reads their state. It is safe for concurrent use, and one Client per
// process is enough: it keeps connections and gathers concurrent submissions. It promotes the
// methods of its Backend and adds convenience.
type Client struct {
	Backend

	server *httpBackend // nil unless Dial made the Client
}

// NewClient returns a Client of b. Dial and embedded.Open call it.
func NewClient(b Backend) *Client { return &Client{Backend: b} }

// Submit stores one task and returns its receipt. Concurrent calls share a transaction, so that
// many callers are cheap. An error in the receipt is returned as the error too.
func (c *Client) Submit(ctx context.Context, req TaskRequest) (TaskReceipt, error) {
	receipts, err := c.SubmitTasks(ctx, SubmitRequest{Tasks: []TaskRequest{req}})
	if err != nil {
		return TaskReceipt{}, err
	}
	if receipts[0].Error != nil {
		return receipts[0], receipts[0].Error
	}
	return receipts[0], nil
}

// Run submits a task with a single step that runs handler, with the JSON of input as the task's
// context. Run returns when the task is stored, not when it has ended; use Wait or Result for
// that.
func (c *Client) Run(ctx context.Context, handler string, input any) (TaskReceipt, error) {
	body, err := json.Marshal(input)
	if err != nil {
		return TaskReceipt{}, Errorf(CodeInvalid, "marshal input of %s: %v", handler, err)
	}
	return c.Submit(ctx, TaskRequest{TaskType: handler, Context: body})
}

// waitRound bounds one long poll of Wait. It stays below the idle timeout of common proxies,
// which is 60 seconds.
const waitRound = 30 * time.Second

// waitPatience bounds how long Wait retries while no server answers: long enough for the
// restart of a server, short enough that a caller learns of a real outage.
const waitPatience = time.Minute

// Wait blocks until the task is settled and returns it. A task in error comes without a Go
// error: check its State. Wait holds a request for a few seconds, then follows a stream of
// events, and goes on polling only where the server offers no stream. When the server becomes
// unavailable, Wait retries for a minute; when it is unavailable at the first call, Wait returns
// the error at once. To bound the wait, pass a ctx with a deadline; the error then wraps
// ctx.Err(). CodeNotFound: no such task.
func (c *Client) Wait(ctx context.Context, id uuid.UUID) (*Task, error) {
	early := 0 // consecutive answers before the end of the long poll
	var pause backoff
	w := c.newWatcher(id)
	for {
		begun := time.Now()
		t, err := w.look(ctx)
		switch {
		case err == nil:
			pause = backoff{}
		case ErrorCode(err) == CodeUnavailable && !errors.Is(err, errClosed) && !w.there.IsZero() &&
			time.Since(w.there) < waitPatience:
			if !pause.wait(ctx, err) {
				return nil, fmt.Errorf("wait for task %s: %w", id, ctx.Err())
			}
			continue
		default:
			return nil, err
		}
		if t.State.Settled() {
			return t, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("wait for task %s: %w", id, err)
		}
		if time.Since(begun) >= time.Second {
			early = 0
			continue
		}
		// A Backend that is closing does not hold the call: pause instead of spinning.
		early++
		sleep(ctx, earlyPause(early, 1000))
	}
}

// Result waits for a task and decodes the result of the step named step into out; step "" means
// the only step. For a task that did not complete it returns an error that carries the failure.
// CodeWrongState: the step failed; the message holds its last error. CodeNotFound: the step has
// no result, or there is no such step. To read the results of several steps, call Steps.
func (c *Client) Result(ctx context.Context, id uuid.UUID, step string, out any) error {
	t, err := c.Wait(ctx, id)
	if err != nil {
		return err
	}
	steps, err := c.Steps(ctx, id)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if step != "" && s.Name != step || step == "" && len(steps) > 1 {
			continue
		}
		if s.ResultsOmitted {
			whole, err := c.Step(ctx, id, s.StepUUID)
			if err != nil {
				return err
			}
			s = *whole
		}
		if len(s.Results) > 0 {
			return json.Unmarshal(s.Results, out)
		}
		if s.LastError != nil {
			return Errorf(CodeWrongState, "step %s is %s: %s", s.Name, s.State, s.LastError.Message)
		}
	}
	return Errorf(CodeNotFound, "task %s is %s and has no result of step %q", id, t.State, step)
}
