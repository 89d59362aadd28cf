package scenario_test

import (
	"context"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
)

// A process that is cut off from the dispatcher works with the store. Back again, it tells the dispatcher all that it
// did.
func TestCutOff(t *testing.T) {
	withDispatcher(t, func(c *carried) {
		both := []task.ID{c.submit(job), c.submit(job)}
		way := &memory.Way{Dispatcher: c.server.Open()}
		other := c.nodeOn(way)
		c.must(other.MaintainDispatch(c.ctx))
		a, b := c.register(task.Worker{}), c.register(task.Worker{})
		first := c.claim(a, 1, 1)[0]

		// it finds what is there, but not the grants of the other process
		way.Cut.Store(true)
		mine := c.engine
		c.engine = other
		twice := c.claim(b, 1, 1)[0]
		if twice.Step.ID != first.Step.ID || twice.Step.Token <= first.Step.Token {
			t.Fatalf("claimed %+v, want %s under a newer token", twice.Step, first.Step.ID)
		}
		second := c.claim(b, 1, 1)[0]
		c.settle(second, engine.ResultCompleted, true)
		c.active(false)

		way.Cut.Store(false)
		c.must(other.MaintainDispatch(c.ctx))
		c.active(true)
		c.engine = mine
		answers, _, err := mine.Heartbeat(c.ctx, engine.Beat{Worker: a,
			Leases: []engine.LeaseRef{{Step: first.Step.ID, Token: first.Step.Token}}})
		c.must(err)
		if answers[0].Status != engine.Lost {
			t.Errorf("the first lease is %s", answers[0].Status)
		}
		c.claim(a, 5, 0)
		c.settle(first, engine.ResultCompleted, false)
		c.settle(twice, engine.ResultCompleted, true)
		for _, id := range both {
			c.state(id, task.Complete)
		}
	})
}

// A process renews a lease that another one granted, as behind a load balancer. When the dispatcher leaves, the
// outdated memory of the first must not end the lease.
func TestRenewedElsewhere(t *testing.T) {
	withDispatcher(t, func(c *carried) {
		other := c.node(c.server)
		c.must(other.MaintainDispatch(c.ctx))
		a := c.register(task.Worker{})
		c.submit(engine.Submission{TaskType: "job", Timeout: time.Hour})
		l := c.claim(a, 1, 1)[0]
		beat := func() engine.LeaseAnswer {
			c.t.Helper()
			answers, _, err := other.Heartbeat(c.ctx, engine.Beat{Worker: a,
				Leases: []engine.LeaseRef{{Step: l.Step.ID, Token: l.Step.Token}}})
			c.must(err)
			return answers[0]
		}
		for range 20 {
			c.pass(15 * time.Second)
			if got := beat(); got.Status != engine.Held {
				t.Fatalf("the heartbeat was answered %+v", got)
			}
		}
		c.server.Fail(errAway)
		c.must(c.engine.MaintainDispatch(c.ctx)) // notices first
		c.keepUp()
		if got := beat(); got.Status != engine.Held {
			t.Errorf("once the dispatcher is away, the heartbeat was answered %+v", got)
		}
		c.settle(l, engine.ResultCompleted, true)
	})
}

// An attempt begun through another process than the one that assigned the step has begun, also when it ends at the
// first one or the dispatcher leaves.
func TestStartedElsewhere(t *testing.T) {
	begin := func(c *carried) (engine.Lease, *engine.Engine) {
		other := c.node(c.server)
		c.must(other.MaintainDispatch(c.ctx))
		c.submit(job)
		leases, _, err := c.engine.Poll(c.ctx, c.register(task.Worker{}), 1, 0, false)
		c.must(err)
		c.pass(time.Second)
		answers, err := other.Start(c.ctx, []engine.LeaseRef{{Step: leases[0].Step.ID, Token: leases[0].Step.Token}})
		c.must(err)
		if answers[0].Status != engine.Held {
			c.t.Fatalf("the start was answered %+v", answers[0])
		}
		return leases[0], other
	}
	begun := func(c *carried, l engine.Lease, want task.StepState) {
		r, err := c.step(l.Task.ID, "job")
		c.must(err)
		if after := r.StartedAt.Sub(r.AssignedAt); r.State != want || r.Attempts != 1 || after != time.Second {
			c.t.Errorf("the step is %s with %d attempts, begun after %s; want %s with one, after a second", r.State, r.Attempts,
				after, want)
		}
	}
	t.Run("EndsHere", func(t *testing.T) {
		withDispatcher(t, func(c *carried) {
			l, _ := begin(c)
			c.settle(l, engine.ResultCompleted, true)
			begun(c, l, task.StepComplete)
		})
	})
	t.Run("DispatcherGoes", func(t *testing.T) {
		withDispatcher(t, func(c *carried) {
			l, other := begin(c)
			c.server.Fail(errAway)
			c.must(c.engine.MaintainDispatch(c.ctx))
			c.must(other.MaintainDispatch(c.ctx))
			begun(c, l, task.StepInProgress)
			c.settle(l, engine.ResultCompleted, true)
		})
	})
}

// interrupted lets something happen right after a look at a step's holder.
type interrupted struct {
	*memory.Dispatcher
	then func()
}

func (d *interrupted) Find(ctx context.Context, steps []task.ID) ([]engine.Hold, error) {
	holds, err := d.Dispatcher.Find(ctx, steps)
	if then := d.then; then != nil {
		d.then = nil
		then()
	}
	return holds, err
}

// One process finds a step unheld and cancels its task while another one grants it. The cancellation ends that lease,
// not the time-out.
func TestCancelRacesClaimElsewhere(t *testing.T) {
	withDispatcher(t, func(c *carried) {
		way := &interrupted{Dispatcher: c.server.Open()}
		other := c.nodeOn(way)
		c.must(other.MaintainDispatch(c.ctx))
		a := c.register(task.Worker{})
		id := c.submit(engine.Submission{TaskType: "job", Timeout: time.Hour})
		c.engine.FlushDispatch()
		var held engine.Lease
		way.then = func() { held = c.claim(a, 1, 1)[0] }
		_, err := other.Cancel(c.ctx, []task.ID{id}, engine.Cancellation{Actor: "ann", Reason: "no"})
		c.must(err)
		other.FlushDispatch()

		if held.Step.ID.IsZero() {
			c.t.Fatal("nothing was granted meanwhile")
		}
		c.pass(time.Second)
		answers, _, err := c.engine.Heartbeat(c.ctx,
			engine.Beat{Worker: a, Leases: []engine.LeaseRef{{Step: held.Step.ID, Token: held.Step.Token}}})
		c.must(err)
		if answers[0].Status != engine.Cancelled {
			c.t.Errorf("the heartbeat of the one who got it is answered %s, want cancelled", answers[0].Status)
		}
		if loads, err := c.engine.Loads(c.ctx); err != nil || len(loads) != 0 {
			c.t.Errorf("workers hold %v, %v; want nothing", loads, err)
		}
		c.settle(held, engine.ResultCompleted, false)
	})
}

// tardy receives the offers of one process late.
type tardy struct {
	*memory.Dispatcher
	until chan struct{}
}

func (d *tardy) Offer(ctx context.Context, steps []engine.Offered) error {
	if d.until != nil {
		<-d.until
	}
	return d.Dispatcher.Offer(ctx, steps)
}

// A process that offers a step late, after the sweep has found it and another has done it, does not hand it out from
// its memory.
func TestOfferedLate(t *testing.T) {
	withDispatcher(t, func(c *carried) {
		c.submit(job)
		a, b := c.register(task.Worker{}), c.register(task.Worker{})
		c.settle(c.claim(a, 1, 1)[0], engine.ResultCompleted, true)
		way := &tardy{Dispatcher: c.server.Open()}
		other := c.nodeOn(way)
		c.must(other.MaintainDispatch(c.ctx))
		way.until = make(chan struct{})
		_, err := other.Submit(c.ctx, []engine.Submission{job}, false)
		c.must(err)
		c.pass(2 * time.Second)
		c.keepUp()
		c.settle(c.claim(a, 1, 1)[0], engine.ResultCompleted, true)
		c.engine.FlushDispatch()

		close(way.until)
		other.FlushDispatch()
		c.engine = other
		c.claim(b, 5, 0)
		c.active(true)
	})
}
