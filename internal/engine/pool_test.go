package engine_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

type crew struct {
	*engine.Engine
	t   *testing.T
	now atomic.Int64
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	c := &crew{t: t}
	c.now.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro())
	s := memstore.New(&memstore.Options{Seed: 1})
	var err error
	c.Engine, err = engine.New(t.Context(), s, engine.Options{Now: func() time.Time {
		return time.UnixMicro(c.now.Load()).UTC()
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return c
}

func (c *crew) advance(d time.Duration) { c.now.Add(d.Microseconds()) }

func (c *crew) worker(handlers ...string) *task.Worker {
	c.t.Helper()
	w, err := c.Register(c.t.Context(), task.Worker{Handlers: handlers})
	if err != nil {
		c.t.Fatal(err)
	}
	return w
}

func (c *crew) take(w *task.Worker, n int, each time.Duration) (types []string) {
	c.t.Helper()
	for range n {
		c.advance(each)
		leases, _, err := c.Poll(c.t.Context(), w.ID, 1, 0, true)
		if err != nil || len(leases) != 1 {
			c.t.Fatalf("the poll brings %d, %v", len(leases), err)
		}
		types = append(types, leases[0].Template.Steps[0].Handler)
		result := engine.Result{Step: leases[0].Step.ID, Token: leases[0].Step.Token, Status: engine.ResultCompleted}
		if _, err := c.Settle(c.t.Context(), []engine.Result{result}); err != nil {
			c.t.Fatal(err)
		}
	}
	return types
}

func (c *crew) put(n int, handler, priority string) (*task.Step, string) {
	c.t.Helper()
	receipts := submit(c.t, c.Engine, many(n, engine.Submission{TaskType: handler, Priority: priority, Queued: true})...)
	last := receipts[n-1].Step
	places, err := c.QueuePlaces(c.t.Context(), []*task.Step{last})
	if err != nil {
		c.t.Fatal(err)
	}
	single, err := c.QueuePlace(c.t.Context(), last)
	if err != nil || single != *places[0] {
		c.t.Errorf("the place is %+v alone and %+v in a call, %v", single, *places[0], err)
	}
	return last, fmt.Sprintf("%d %s", single.Ahead+1, single.Wait.Round(100*time.Millisecond))
}

// A place counts the steps of all shared routes, and the wait is the time for them.
func TestPlaceAmongSharedRoutes(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	both, other := c.worker("a", "b"), c.worker("c")
	c.put(50, "b", "")
	c.take(both, 20, 50*time.Millisecond)
	c.take(both, 30, 50*time.Millisecond)
	if _, got := c.put(150, "a", "high"); got != "150 7.5s" {
		t.Errorf("the last of a stands at %s", got)
	}
	b, got := c.put(1, "b", "")
	if got != "151 7.5s" && got != "151 7.6s" {
		t.Errorf("behind all of them b stands at %s", got)
	}
	if _, got := c.put(1, "b", "100"); got != "1 0s" && got != "1 100ms" {
		t.Errorf("before all of them b stands at %s", got)
	}
	if _, got := c.put(1, "c", "low"); got != "1 -0s" && got != "1 0s" {
		t.Errorf("where another worker serves c stands at %s", got)
	}
	if _, got := c.put(1, "nobody", "low"); got != "1 -0s" && got != "1 0s" {
		t.Errorf("where no worker serves it stands at %s", got)
	}
	types := c.take(both, 152, 50*time.Millisecond)
	if types[0] != "b" || types[150] != "a" || types[151] != "b" {
		t.Errorf("they were taken as %v", types)
	}
	c.advance(time.Second)
	if p, err := c.QueuePlace(t.Context(), b); err != nil || p.Ahead != 0 {
		t.Errorf("in the end nothing is ahead: %+v, %v", p, err)
	}
	// a new worker for c and a puts a before c
	c.put(10, "a", "high")
	if _, got := c.put(1, "c", ""); got[:2] != "1 " {
		t.Errorf("beside a worker of its own c stands at %s", got)
	}
	c.worker("c", "a")
	if _, got := c.put(1, "c", ""); got[:3] != "12 " {
		t.Errorf("beside one that takes a too c stands at %s", got)
	}
	if _, err := c.Drain(t.Context(), other.ID, true, engine.WorkerAct{}); err != nil {
		t.Fatal(err)
	}
}

func TestPlacesOfOneCall(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	c.worker()
	var subs []engine.Submission
	for i := range 6 {
		subs = append(subs, engine.Submission{TaskType: []string{"a", "a", "b"}[i%3], Queued: true})
	}
	var steps []*task.Step
	for _, r := range submit(t, c.Engine, subs...) {
		steps = append(steps, r.Step)
	}
	places, err := c.QueuePlaces(t.Context(), steps)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range places {
		if p.Ahead != i {
			t.Errorf("step %d has %d ahead", i, p.Ahead)
		}
	}
}
