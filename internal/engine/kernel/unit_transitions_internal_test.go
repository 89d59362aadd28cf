package kernel

import (
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

// TestTransitionsCostNothing without a listener.
func TestTransitionsCostNothing(t *testing.T) {
	u := &Unit{E: &Kernel{}}
	u.Observed = observed{u: u, Commit: &Commit{}}
	w := Work{&task.Step{State: task.StepInProgress}, &task.Task{State: task.Pending}}
	hold := &Hold{}
	got := testing.AllocsPerRun(100, func() {
		u.Observed.taskMoved(w.Task, "")
		u.Observed.stepMoved(w, task.StepAssigned)
		u.Observed.holdMoved(w)
		u.Observed.holdStarted(hold)
	})
	if got != 0 || len(u.Observed.Commit.Transitions) != 0 {
		t.Errorf("%v allocations, %d transitions", got, len(u.Observed.Commit.Transitions))
	}
}
