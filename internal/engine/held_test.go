package engine_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
)

func TestHeldInTheDispatcher(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t, engine.Options{Dispatcher: memory.NewServer().Open()})
	submit(t, e, engine.Submission{TaskType: "before"})
	w, other := register(t, e, 5), register(t, e, 5)
	stored, _, err := e.Poll(t.Context(), w.ID, 1, 0, true)
	if err != nil || len(stored) != 1 {
		t.Fatalf("before the dispatcher was filled the worker got %d steps, %v", len(stored), err)
	}
	if err := e.MaintainDispatch(t.Context()); err != nil {
		t.Fatal(err)
	}
	ids := []task.ID{stored[0].Task.ID, submit(t, e, engine.Submission{TaskType: "after"})[0].ID}
	got, _, err := e.Poll(t.Context(), w.ID, 1, 0, false)
	if err != nil || len(got) != 1 {
		t.Fatalf("the worker got %d steps, %v", len(got), err)
	}
	held, err := e.HeldOf(t.Context(), w.ID, ids)
	if err != nil || len(held) != 2 || len(held[0].Leases) != 1 || len(held[1].Leases) != 1 ||
		held[1].Leases[0].Token != e.Token(&got[0].Step) {
		t.Errorf("it holds %+v, %v", held, err)
	}
	for who, want := range map[*task.Worker]int{w: 2, other: 0} {
		if loads, err := e.Loads(t.Context()); err != nil || loads[who.No] != want {
			t.Errorf("they hold %v, %v; want %d", loads, err, want)
		}
	}
}
