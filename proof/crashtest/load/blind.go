package load

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// RunBlind produces with pauses until stop is closed, without reading tasks: for databases that go back in time, where
// an accepted task may be gone.
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

func (p *Producer) single(ctx context.Context) error {
	_, err := p.try(ctx, p.request("ok", order{MS: p.Rand.IntN(3) * 10}))
	return err
}

func (p *Producer) insisted(ctx context.Context) error {
	_, err := p.One(ctx)
	return err
}

func (p *Producer) diamond(ctx context.Context) error {
	_, err := p.try(ctx, p.request("diamond", order{Step: "left", MS: p.Rand.IntN(20)}))
	return err
}

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
