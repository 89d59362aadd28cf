package scenario_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/taskerhq/tasker/internal/dispatch/memory"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// cutOff is the way of one process to the dispatcher, which can be cut.
type cutOff struct {
	*memory.Dispatcher
	cut atomic.Bool
}

func (d *cutOff) way() error {
	if d.cut.Load() {
		return errAway
	}
	return nil
}

func (d *cutOff) Check(ctx context.Context) error {
	if err := d.way(); err != nil {
		return err
	}
	return d.Dispatcher.Check(ctx)
}

func (d *cutOff) Offer(ctx context.Context, steps []engine.Offered) error {
	if err := d.way(); err != nil {
		return err
	}
	return d.Dispatcher.Offer(ctx, steps)
}

func (d *cutOff) Remove(ctx context.Context, steps []engine.Offered) error {
	if err := d.way(); err != nil {
		return err
	}
	return d.Dispatcher.Remove(ctx, steps)
}

func (d *cutOff) Claim(ctx context.Context, claims []engine.Claim, now task.Instant) ([][]engine.Hold, error) {
	if err := d.way(); err != nil {
		return nil, err
	}
	return d.Dispatcher.Claim(ctx, claims, now)
}

// One of two processes is cut off from the dispatcher, and works on with the store.
// When it comes back, the dispatcher hears of all that it did meanwhile.
func TestCutOff(t *testing.T) {
	withDispatcher(t, func(c *carried) {
		both := []task.ID{c.submit(job), c.submit(job)}
		way := &cutOff{Dispatcher: c.server.Open()}
		other := c.nodeOn(way) // knows the route
		c.must(other.TendDispatch(c.ctx))
		a, b := c.register(task.Worker{}), c.register(task.Worker{})
		first := c.claim(a, 1, 1)[0]

		// it finds what is there at once; what another process granted it cannot know
		way.cut.Store(true)
		mine := c.engine
		c.engine = other
		twice := c.claim(b, 1, 1)[0]
		if twice.Step.ID != first.Step.ID || twice.Step.Token <= first.Step.Token {
			t.Fatalf("claimed %+v, want %s under a newer token", twice.Step, first.Step.ID)
		}
		second := c.claim(b, 1, 1)[0]
		c.settle(second, engine.ResultCompleted, true)
		c.active(false)

		way.cut.Store(false)
		c.must(other.TendDispatch(c.ctx))
		c.active(true)
		c.engine = mine
		answers, _, err := mine.Heartbeat(c.ctx, engine.Beat{Worker: a, Leases: []engine.LeaseRef{{Step: first.Step.ID, Token: first.Step.Token}}})
		c.must(err)
		if answers[0].Status != engine.Lost {
			t.Errorf("the first lease is %s", answers[0].Status)
		}
		c.claim(a, 5, 0) // neither is handed out again
		c.settle(first, engine.ResultCompleted, false)
		c.settle(twice, engine.ResultCompleted, true)
		for _, id := range both {
			c.state(id, task.Complete)
		}
	})
}
