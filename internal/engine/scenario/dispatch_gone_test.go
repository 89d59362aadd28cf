package scenario_test

import (
	"context"
	"errors"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
)

// impatient is a dispatcher whose callers leave before it answers.
type impatient struct {
	*memory.Dispatcher
	leave func()
}

func (d *impatient) Find(ctx context.Context, steps []task.ID) ([]engine.Hold, error) {
	d.leave()
	return d.Dispatcher.Find(ctx, steps)
}

func (d *impatient) HeldBy(ctx context.Context, worker int64, limit int) ([]engine.Hold, error) {
	d.leave()
	return d.Dispatcher.HeldBy(ctx, worker, limit)
}

func (d *impatient) Waiting(ctx context.Context, routes []int64) (map[int64]int, error) {
	d.leave()
	return d.Dispatcher.Waiting(ctx, routes)
}

// A caller that leaves before the answer proves no fault of the dispatcher.
func TestCallerGone(t *testing.T) {
	withDispatcher(t, func(c *carried) {
		d := &impatient{Dispatcher: c.server.Open(), leave: func() {}}
		c.engine = c.nodeOn(d)
		c.must(c.engine.MaintainDispatch(c.ctx))
		a, id := c.register(task.Worker{}), c.submit(job)
		c.engine.FlushDispatch()
		for what, ask := range map[string]func(ctx context.Context) error{
			"Steps":  func(ctx context.Context) error { _, _, err := c.engine.Steps(ctx, id); return err },
			"Census": func(ctx context.Context) error { _, err := c.engine.Census(ctx); return err },
			"Drain": func(ctx context.Context) error {
				_, err := c.engine.Drain(ctx, a, true, engine.WorkerAct{})
				return err
			},
		} {
			ctx, cancel := context.WithCancel(c.ctx)
			d.leave = cancel
			if err := ask(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", what, err)
			}
			if ctx.Err() == nil {
				t.Errorf("%s did not ask the dispatcher", what)
			}
			d.leave = func() {}
			cancel()
			c.active(true)
		}
	})
}
