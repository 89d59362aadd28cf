package upkeep_test

import (
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
)

// Several nodes agree on who hands out steps: the store or a dispatcher.

type dispatched struct {
	*node
	way *memory.Way
}

func dispatching(t *testing.T, d *database, server *memory.Server) dispatched {
	t.Helper()
	way := &memory.Way{Dispatcher: server.Open()}
	return dispatched{bootOn(t, d, way, settings.Config{}), way}
}

func (n dispatched) freeze() (thaw func()) {
	still := make(chan struct{})
	thaw = sync.OnceFunc(func() { close(still) })
	n.t.Cleanup(thaw)
	n.way.Frozen.Store(&still)
	n.store.freeze(still)
	return thaw
}

func active(t *testing.T, want bool, nodes ...*node) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		as := true
		for _, n := range nodes {
			as = as && n.DispatchState().Active == want
		}
		if as {
			return
		}
		if time.Now().After(end) {
			for _, n := range nodes {
				t.Errorf("the node dispatches %+v; want active %v", n.DispatchState(), want)
			}
			t.FailNow()
		}
	}
}

func (n *node) none(wait time.Duration) {
	n.t.Helper()
	if p := <-n.poll(n.register(task.Worker{}), 5, wait); len(p.leases) > 0 {
		n.t.Fatalf("after %v a poll got %+v, which somebody else holds", p.after, p.leases[0].Step)
	}
}

func (n *node) stale(l engine.Lease) {
	n.t.Helper()
	late := engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}
	answers, err := n.Settle(n.t.Context(), []engine.Result{late})
	if err != nil || task.CodeOf(answers[0].Err) != task.StaleToken {
		n.t.Fatalf("the late report was answered %+v, %v", answers, err)
	}
}

// A node stands still for 4 s while the dispatcher loses its memory. Its steps are not handed out again: the others
// wait until it has stored its leases.
func TestSleeperAcrossAFlush(t *testing.T) {
	within(t, func(t *testing.T) {
		server, d := memory.NewServer(), newDatabase()
		a, b := dispatching(t, d, server), dispatching(t, d, server)
		active(t, true, a.node, b.node)
		b.submit(job)
		b.FlushDispatch()
		l := b.take(b.register(task.Worker{}), 0)
		thaw := b.freeze()
		server.Flush()
		a.none(4 * time.Second)
		thaw()
		a.none(10 * time.Second)
		active(t, true, a.node, b.node)
		a.none(time.Second)
		a.settle(l, engine.Result{Status: engine.ResultCompleted})
	})
}

// A node that stands still for longer counts as dead: steps known only to it and the dispatcher are handed out
// again. When it resumes, it hands out none of its pending ones.
func TestSleeperCountsAsLost(t *testing.T) {
	within(t, func(t *testing.T) {
		server, d := memory.NewServer(), newDatabase()
		a, b := dispatching(t, d, server), dispatching(t, d, server)
		active(t, true, a.node, b.node)
		id := b.submit(job)
		b.FlushDispatch()
		claims := make(chan struct{})
		answer := sync.OnceFunc(func() { close(claims) })
		t.Cleanup(answer)
		b.way.Answers.Store(&claims)
		asleep := b.tryPoll(b.register(task.Worker{}), 1, 0)
		thaw := b.freeze()
		server.Flush()
		p := <-a.poll(a.register(task.Worker{}), 1, 20*time.Second)
		if len(p.leases) != 1 || p.leases[0].Task.ID != id {
			t.Fatalf("a poll came back with %+v after %v", p.leases, p.after)
		}
		between(t, "the wait for a node that says nothing", p.after, 5*time.Second, 9*time.Second)
		thaw()
		answer()
		if late := <-asleep; len(late.leases) > 0 {
			t.Errorf("the node that went on handed out %+v", late.leases[0].Step)
		}
		b.settle(p.leases[0], engine.Result{Status: engine.ResultCompleted})
		active(t, true, a.node, b.node)
		a.none(time.Second)
		b.none(time.Second)
	})
}

// Node by node a cluster changes from the database to a dispatcher and back, with held and waiting steps. Each step
// runs once, and no two workers hold the same.
func TestRollingSwitch(t *testing.T) {
	within(t, func(t *testing.T) {
		server, d := memory.NewServer(), newDatabase()
		var held []engine.Lease
		tasks := 0
		// step submits two tasks through a node and has another one hand out one of them.
		step := func(through, from *node) {
			t.Helper()
			through.submit(job)
			through.submit(job)
			tasks += 2
			through.FlushDispatch()
			held = append(held, from.take(from.register(task.Worker{}), 10*time.Second))
		}
		a, b := boot(t, d, settings.Config{}), boot(t, d, settings.Config{})
		step(a, b)
		step(b, a)
		a.stop()
		c := dispatching(t, d, server)
		step(c.node, b)
		step(b, c.node)
		active(t, false, c.node) // the other one has no dispatcher
		b.stop()
		e := dispatching(t, d, server)
		active(t, true, c.node, e.node)
		step(c.node, e.node)
		step(e.node, c.node)

		c.stop()
		a = boot(t, d, settings.Config{})
		step(e.node, a)
		step(a, e.node)
		active(t, false, e.node)
		e.stop()
		b = boot(t, d, settings.Config{})
		step(a, b)
		step(b, a)
		for len(held) < tasks {
			held = append(held, a.take(a.register(task.Worker{}), 10*time.Second))
		}
		a.none(time.Second)
		seen := map[task.ID]bool{}
		for i, l := range held {
			if seen[l.Step.ID] {
				t.Errorf("the step of task %s was handed out twice", l.Task.ID)
			}
			seen[l.Step.ID] = true
			[]*node{a, b}[i%2].settle(l, engine.Result{Status: engine.ResultCompleted})
		}
	})
}

// The content of a dispatcher filled before other nodes worked on the database is stale when it is used again, also
// by new nodes.
func TestOldContent(t *testing.T) {
	within(t, func(t *testing.T) {
		server, d := memory.NewServer(), newDatabase()
		a := dispatching(t, d, server)
		active(t, true, a.node)
		first := a.submit(job)
		a.FlushDispatch()
		a.stop()
		b := boot(t, d, settings.Config{})
		l := b.take(b.register(task.Worker{}), 0)
		second := b.submit(job)
		b.settle(l, engine.Result{Status: engine.ResultCompleted})
		b.stop()
		c := dispatching(t, d, server)
		active(t, true, c.node)
		if n, err := c.way.Waiting(t.Context(), []int64{l.Step.RouteID}); err != nil || n[l.Step.RouteID] != 1 {
			t.Errorf("%d steps wait, %v; want the one of task %s and not that of %s", n[l.Step.RouteID], err, second, first)
		}
		if got := c.take(c.register(task.Worker{}), 0); got.Task.ID != second {
			t.Errorf("a poll got the step of %s", got.Task.ID)
		}
	})
}

// A program that only submits without the dispatcher, as an embedded engine does, does not prevent its use. One
// that hands out steps does.
func TestNodeWithoutDispatcher(t *testing.T) {
	within(t, func(t *testing.T) {
		server, d := memory.NewServer(), newDatabase()
		a, b := dispatching(t, d, server), boot(t, d, settings.Config{})
		active(t, true, a.node)
		b.submit(job)
		l := a.take(a.register(task.Worker{}), 10*time.Second)
		time.Sleep(time.Minute)
		active(t, true, a.node)

		// It accepts the report of a lease that only the dispatcher has.
		b.settle(l, engine.Result{Status: engine.ResultCompleted})
		a.stale(l)
		a.none(time.Second)

		b.submit(job)
		b.submit(job)
		w := b.register(task.Worker{})
		mine := b.take(w, 10*time.Second)
		active(t, false, a.node)
		other := a.take(a.register(task.Worker{}), 10*time.Second)
		if other.Step.ID == mine.Step.ID {
			t.Errorf("step %s is in two hands", mine.Step.ID)
		}
		a.settle(mine, engine.Result{Status: engine.ResultCompleted})
		b.settle(other, engine.Result{Status: engine.ResultCompleted})
		time.Sleep(3 * time.Minute)
		active(t, true, a.node)
	})
}

// Nodes with different dispatchers use neither.
func TestTwoDispatchers(t *testing.T) {
	within(t, func(t *testing.T) {
		d := newDatabase()
		a := dispatching(t, d, memory.NewServer())
		active(t, true, a.node)
		for range 3 {
			a.submit(job)
		}
		a.FlushDispatch()
		first := a.take(a.register(task.Worker{}), 0)
		other := memory.NewServer()
		for range 3 { // so that its contents have other names
			if _, err := other.Open().Reload(t.Context(), time.Nanosecond); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		b := dispatching(t, d, other)
		second := b.take(b.register(task.Worker{}), 10*time.Second)
		third := a.take(a.register(task.Worker{}), 10*time.Second)
		if first.Step.ID == second.Step.ID || second.Step.ID == third.Step.ID || first.Step.ID == third.Step.ID {
			t.Errorf("the steps are %s, %s, %s", first.Step.ID, second.Step.ID, third.Step.ID)
		}
		active(t, false, a.node, b.node)
		for _, l := range []engine.Lease{first, second, third} {
			b.settle(l, engine.Result{Status: engine.ResultCompleted})
		}
		a.stop()
		active(t, true, b.node)
	})
}

func TestContentOfTheFuture(t *testing.T) {
	within(t, func(t *testing.T) {
		server, d := memory.NewServer(), newDatabase()
		a, b := dispatching(t, d, server), dispatching(t, d, server)
		active(t, true, a.node, b.node)
		before := a.way.Content()
		a.store.forget()
		b.submit(job)
		time.Sleep(5 * time.Second)
		active(t, true, a.node, b.node)
		if after := a.way.Content(); after == before || after != b.way.Content() {
			t.Errorf("the dispatcher has content %s after %s; the other node sees %s", after, before, b.way.Content())
		}
		a.take(a.register(task.Worker{}), 0)
	})
}
