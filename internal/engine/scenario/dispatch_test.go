package scenario_test

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// carried is a bubble whose engine dispatches through a server.
type carried struct {
	*bubble
	server *memory.Server
	mem    *memstore.Store
}

func withDispatcher(t *testing.T, fn func(c *carried)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &carried{server: memory.NewServer(), mem: memstore.New(nil)}
		w := &world{ctx: t.Context(), store: c.mem, now: start}
		c.bubble = &bubble{world: w, t: t}
		c.boot()
		fn(c)
	})
}

func (c *carried) boot() {
	c.t.Helper()
	c.engine = c.node(c.server)
	c.upkeep = upkeep.New(c.engine, slog.New(slog.DiscardHandler))
	c.must(c.engine.MaintainDispatch(c.ctx))
	c.active(true)
}

// node adds an engine on the store; without a server it is its own queue.
func (c *carried) node(server *memory.Server) *engine.Engine {
	c.t.Helper()
	if server == nil {
		return c.nodeOn(nil)
	}
	return c.nodeOn(server.Open())
}

func (c *carried) nodeOn(d engine.Dispatcher) *engine.Engine {
	c.t.Helper()
	e, err := engine.New(c.ctx, c.mem, engine.Options{Now: func() time.Time {
		return c.now
	}, Roll: func() float64 { return 0.5 }, Dispatcher: d})
	c.must(err)
	return e
}

func (c *carried) active(want bool) {
	c.t.Helper()
	if s := c.engine.DispatchState(); s.Active != want || !s.Configured || (s.Why == nil) != want {
		c.t.Fatalf("the dispatch is %+v; want active %v", s, want)
	}
}

// pass first waits for background work, which reads the clock.
func (c *carried) pass(d time.Duration) {
	synctest.Wait()
	c.now = c.now.Add(d)
}

func (c *carried) claim(worker task.ID, n, want int) []engine.Lease {
	c.t.Helper()
	c.pass(time.Millisecond)
	leases, _, err := c.engine.Poll(c.ctx, worker, n, 0, true)
	c.must(err)
	if len(leases) != want {
		c.t.Fatalf("a claim of %d got %d steps, want %d", n, len(leases), want)
	}
	return leases
}

// settle expects the result to be accepted or refused as stale.
func (c *carried) settle(l engine.Lease, status engine.ResultStatus, accepted bool) {
	c.t.Helper()
	c.pass(time.Millisecond)
	r := engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: status}
	if status == engine.ResultFailed {
		r.Failure = &task.Failure{Message: "no", Retryable: true}
	}
	answers, err := c.engine.Settle(c.ctx, []engine.Result{r})
	c.must(err)
	if (answers[0].Err == nil) != accepted || !accepted && task.CodeOf(answers[0].Err) != task.StaleToken {
		c.t.Fatalf("the result was answered %+v; want accepted %v", answers[0], accepted)
	}
}

func (c *carried) keepUp() {
	c.t.Helper()
	c.must(c.upkeep.RunOnce(c.ctx))
	c.engine.FlushDispatch()
}

func (c *carried) state(id task.ID, want task.State) {
	c.t.Helper()
	t, err := c.engine.Task(c.ctx, id, 0)
	c.must(err)
	if t.State != want {
		c.t.Fatalf("task is %s, want %s", t.State, want)
	}
}

var errAway = errors.New("connection refused")

func TestDispatcherLosesAll(t *testing.T) {
	withDispatcher(t, func(c *carried) {
		a, b := c.register(task.Worker{}), c.register(task.Worker{})
		tasks := []task.ID{c.submit(job), c.submit(job), c.submit(job)}
		held := c.claim(a, 1, 1)[0]
		c.server.Flush()

		// the node that notices continues with the store and hands out no running step again
		others := c.claim(b, 5, 2)
		c.active(false)
		c.keepUp()
		c.active(true)
		c.claim(b, 5, 0)

		c.settle(held, engine.ResultCompleted, true)
		c.settle(held, engine.ResultCompleted, false)
		for _, l := range others {
			c.settle(l, engine.ResultCompleted, true)
		}
		for _, id := range tasks {
			c.state(id, task.Complete)
		}
	})
}

func TestDispatcherAway(t *testing.T) {
	withDispatcher(t, func(c *carried) {
		a := c.register(task.Worker{})
		c.submit(job)
		before := c.claim(a, 1, 1)[0]
		c.server.Fail(errAway)
		during := c.submit(job)
		synctest.Wait()
		c.active(false)
		if why := c.engine.DispatchState().Why; !errors.Is(why, errAway) {
			t.Errorf("why: %v", why)
		}
		c.keepUp()
		c.active(false)
		natively := c.claim(a, 5, 1)[0]
		if natively.Task.ID != during || natively.Step.Token < before.Step.Token {
			t.Errorf("claimed %+v", natively.Step)
		}
		left := c.submit(job)

		c.server.Fail(nil)
		c.keepUp()
		c.active(true)
		after := c.claim(a, 5, 1)[0]
		if after.Task.ID != left {
			t.Errorf("claimed %+v", after.Step)
		}
		for _, l := range []engine.Lease{before, natively, after} {
			c.settle(l, engine.ResultCompleted, true)
		}
		c.keepUp()
		c.claim(a, 5, 0)
	})
}

// A restarted server may have lost its last moments, so the node does not trust it.
func TestDispatcherRestarts(t *testing.T) {
	withDispatcher(t, func(c *carried) {
		a := c.register(task.Worker{})
		c.submit(job)
		held := c.claim(a, 1, 1)[0]
		c.submit(job)
		c.server.Restart()
		c.keepUp()
		c.keepUp()
		c.active(true)
		c.claim(a, 5, 1)
		c.settle(held, engine.ResultCompleted, true)
	})
}

// The process and the dispatcher's memory die; only the worker has the lease.
func TestOnlyTheWorkerKnows(t *testing.T) {
	withDispatcher(t, func(c *carried) {
		a, b := c.register(task.Worker{}), c.register(task.Worker{})
		c.submit(job)
		held := c.claim(a, 1, 1)[0]
		c.server.Flush()
		c.boot()

		answers, _, err := c.engine.Heartbeat(c.ctx,
			engine.Beat{Worker: a, Leases: []engine.LeaseRef{{Step: held.Step.ID, Token: held.Step.Token}}})
		c.must(err)
		if answers[0].Status != engine.Held {
			t.Fatalf("the heartbeat was answered %+v", answers[0])
		}
		c.engine.FlushDispatch()
		c.claim(b, 5, 0)
		c.settle(held, engine.ResultCompleted, true)

		// a late worker finds the step in other hands
		c.submit(job)
		late := c.claim(a, 1, 1)[0]
		c.server.Flush()
		c.boot()
		second := c.claim(b, 1, 1)[0]
		c.settle(late, engine.ResultCompleted, false)
		c.settle(second, engine.ResultFailed, true)
		c.settle(late, engine.ResultCompleted, false)
		c.settle(second, engine.ResultCompleted, false)
	})
}

// The sweep finds what a process could not tell the dispatcher before it died.
func TestSweep(t *testing.T) {
	withDispatcher(t, func(c *carried) {
		a := c.register(task.Worker{})
		c.submit(job)
		c.settle(c.claim(a, 1, 1)[0], engine.ResultCompleted, true)
		stranger := c.node(nil)
		r, err := stranger.Submit(c.ctx, []engine.Submission{job}, false)
		c.must(err)
		c.claim(a, 5, 0)
		c.pass(2 * time.Second) // the time in which it could still tell
		c.keepUp()
		l := c.claim(a, 5, 1)[0]
		if l.Task.ID != r[0].ID {
			t.Errorf("claimed %+v", l.Step)
		}

		c.server.Fail(errAway)
		c.settle(l, engine.ResultReleased, true)
		synctest.Wait()
		c.server.Fail(nil)
		c.keepUp()
		c.active(true)
		again := c.claim(a, 5, 1)[0]
		if again.Step.Token <= l.Step.Token || again.Step.Attempts != 1 {
			t.Errorf("claimed %+v", again.Step)
		}
		c.settle(l, engine.ResultCompleted, false)
		c.settle(again, engine.ResultCompleted, true)
	})
}

// A stale offer is dropped. The process that submitted the step may still hand it out; its result is refused.
func TestStaleOffer(t *testing.T) {
	withDispatcher(t, func(c *carried) {
		a := c.register(task.Worker{})
		gone, stays := c.submit(job), c.submit(job)
		c.engine.FlushDispatch()
		_, err := c.node(nil).Cancel(c.ctx, []task.ID{gone}, engine.Cancellation{Actor: "ops"})
		c.must(err)
		c.boot() // without memory
		l := c.claim(a, 1, 1)[0]
		if l.Task.ID != stays {
			t.Errorf("claimed a step of %s", l.Task.ID)
		}
		c.engine.FlushDispatch()
		c.claim(a, 5, 0)

		known := c.submit(job)
		c.engine.FlushDispatch()
		_, err = c.node(nil).Cancel(c.ctx, []task.ID{known}, engine.Cancellation{Actor: "ops"})
		c.must(err)
		c.settle(c.claim(a, 1, 1)[0], engine.ResultCompleted, false)
	})
}
