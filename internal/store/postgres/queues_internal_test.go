package postgres

import (
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/pgtest"
	"github.com/taskerhq/tasker/internal/task"
)

// What a claim has passed is the place of its steps in the queue of their route,
// not the place among the leases that they have when it is committed: a lease
// that ends sooner would not be seen to run out.
func TestClaimPassesItsRoute(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), pgtest.DSN(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, err := engine.New(t.Context(), s, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Submit(t.Context(), []engine.Submission{{TaskType: "h"}, {TaskType: "h"}}, false); err != nil {
		t.Fatal(err)
	}
	w, err := e.Register(t.Context(), task.Worker{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	leases, _, err := e.Poll(t.Context(), w.ID, 2, 0, true)
	if err != nil || len(leases) != 2 {
		t.Fatalf("%d leases, %v; want 2", len(leases), err)
	}
	step := leases[1].Step
	queued := task.StrictKey(step.Priority, step.ReadyAt)
	s.routes.mu.Lock()
	defer s.routes.mu.Unlock()
	if got := s.routes.get(step.RouteID).after[queued>>bandBits]; got != queued {
		t.Errorf("the claim passed %d on the route; want %d", got, queued)
	}
	if got := s.routes.get(task.Leases).after; len(got) > 0 {
		t.Errorf("the claim passed %v among the leases, which it has not looked at", got)
	}
}
