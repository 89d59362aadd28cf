package load

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// RunBlind produces until stop is closed, and never asks what became of a task: it is for
// databases that go back in time, where a task that was accepted may be gone. Between two
// submissions it pauses.
func (p *Producer) RunBlind(ctx context.Context, stop <-chan struct{}, pause time.Duration) error {
	kinds := []func(context.Context) error{p.single, p.single, p.insisted, p.diamond, p.together, p.scheduled}
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(pause):
		}
		if err := kinds[p.Rand.IntN(len(kinds))](ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("producer %s: %w", p.Name, err)
		}
	}
}

// single submits one task without a key.
func (p *Producer) single(ctx context.Context) error {
	_, err := p.try(ctx, p.request("ok", order{MS: p.Rand.IntN(3) * 10}))
	return err
}

// insisted submits one task under a key until it is accepted.
func (p *Producer) insisted(ctx context.Context) error {
	_, err := p.One(ctx)
	return err
}

// diamond submits a workflow.
func (p *Producer) diamond(ctx context.Context) error {
	_, err := p.try(ctx, p.request("diamond", order{Step: "left", MS: p.Rand.IntN(20)}))
	return err
}

// together submits a few tasks in one request.
func (p *Producer) together(ctx context.Context) error {
	var req tasker.SubmitRequest
	for range 2 + p.Rand.IntN(10) {
		req.Tasks = append(req.Tasks, p.request("ok", order{}))
	}
	_, err := p.Client.SubmitTasks(ctx, req)
	if Lost(err) {
		return p.Retry(ctx, err)
	}
	return err
}

// Complete follows a task until it is complete.
func (p *Producer) Complete(ctx context.Context, id uuid.UUID) error {
	t, err := p.settled(ctx, id)
	if err == nil && t.State != tasker.TaskComplete {
		err = fmt.Errorf("task %s ended %s", id, t.State)
	}
	return err
}
