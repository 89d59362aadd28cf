package engine

import (
	"testing"

	"github.com/taskerhq/tasker/internal/task"
)

// TestTransitionsCostNothing unless somebody wants to hear of them.
func TestTransitionsCostNothing(t *testing.T) {
	u := &unit{e: &Engine{}, seen: &Commit{}}
	w := Work{&task.Step{State: task.StepInProgress}, &task.Task{State: task.Pending}}
	hold := &Hold{}
	got := testing.AllocsPerRun(100, func() {
		u.toldTask(w.Task, "")
		u.toldStep(w, task.StepAssigned)
		u.toldHeld(w)
		u.toldStarted(hold)
	})
	if got != 0 || len(u.seen.Transitions) != 0 {
		t.Errorf("%v allocations, %d transitions", got, len(u.seen.Transitions))
	}
}
