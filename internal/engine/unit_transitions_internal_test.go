package engine

import (
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

// TestTransitionsCostNothing without a listener.
func TestTransitionsCostNothing(t *testing.T) {
	u := &unit{e: &Engine{}}
	u.observed = observed{u: u, commit: &Commit{}}
	w := Work{&task.Step{State: task.StepInProgress}, &task.Task{State: task.Pending}}
	hold := &Hold{}
	got := testing.AllocsPerRun(100, func() {
		u.observed.taskMoved(w.Task, "")
		u.observed.stepMoved(w, task.StepAssigned)
		u.observed.holdMoved(w)
		u.observed.holdStarted(hold)
	})
	if got != 0 || len(u.observed.commit.Transitions) != 0 {
		t.Errorf("%v allocations, %d transitions", got, len(u.observed.commit.Transitions))
	}
}
