package upkeep_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
)

// The node with all turns is cut off from the dispatcher. No node uses it then: new steps and those of dead workers
// still reach workers.
func TestCutOffWithTheTurns(t *testing.T) {
	within(t, func(t *testing.T) {
		server, d := memory.NewServer(), newDatabase()
		way := &memory.Way{Dispatcher: server.Open()}
		a, b := bootOn(t, d, way, settings.Config{}), bootOn(t, d, server.Open(), settings.Config{})
		time.Sleep(10*time.Second + 500*time.Millisecond) // between two ticks
		if !a.DispatchState().Active || !b.DispatchState().Active {
			t.Fatalf("the nodes dispatch %+v, %+v", a.DispatchState(), b.DispatchState())
		}
		a.submit(job)
		b.submit(job)
		a.FlushDispatch()
		for range 2 {
			b.take(b.register(task.Worker{}), 0)
		}
		way.Cut.Store(true)
		time.Sleep(5 * time.Second)
		if a.DispatchState().Active || b.DispatchState().Active {
			t.Fatalf("the nodes dispatch %+v, %+v; want both through the database", a.DispatchState(), b.DispatchState())
		}

		id := a.submit(job)
		w := b.register(task.Worker{})
		p := <-b.poll(w, 1, 30*time.Second)
		if len(p.leases) != 1 || p.leases[0].Task.ID != id {
			t.Fatalf("a poll on the other node came back with %+v", p.leases)
		}
		between(t, "the way of a step", p.after, 0, 2*time.Second)
		b.settle(p.leases[0], engine.Result{Status: engine.ResultCompleted})

		time.Sleep(b.Config().Leases.Lease())
		for range 2 { // the first takers were silent
			b.take(b.register(task.Worker{}), 30*time.Second)
		}
		way.Cut.Store(false)
		time.Sleep(5 * time.Second)
		if !a.DispatchState().Active || !b.DispatchState().Active {
			t.Errorf("after that the nodes dispatch %+v, %+v", a.DispatchState(), b.DispatchState())
		}
	})
}
