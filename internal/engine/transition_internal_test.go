package engine

import (
	"testing"

	"github.com/taskerhq/tasker/internal/task"
)

// TestTransitionsCostNothing unless somebody wants to hear of them.
func TestTransitionsCostNothing(t *testing.T) {
	u := &unit{e: &Engine{}, commit: &Commit{}}
	w := Work{&task.Step{State: task.StepInProgress}, &task.Task{State: task.Pending}}
	hold := &Hold{}
	got := testing.AllocsPerRun(100, func() {
		u.observeTask(w.Task, "")
		u.observeStep(w, task.StepAssigned)
		u.observeHold(w)
		u.observeHoldStarted(hold)
	})
	if got != 0 || len(u.commit.Transitions) != 0 {
		t.Errorf("%v allocations, %d transitions", got, len(u.commit.Transitions))
	}
}
