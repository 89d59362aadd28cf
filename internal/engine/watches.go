package engine

import "github.com/taskerhq/tasker/internal/model/task"

// watched is the live tasks that have changed, and their former states: their thresholds may be nearer now.
type watched struct {
	u     *unit
	tasks map[*task.Task]task.State
}

var watchSlot = newSlot(func(u *unit) *watched { return &watched{u: u, tasks: map[*task.Task]task.State{}} })

func mustWatch(u *unit, t *task.Task, was task.State) {
	if !t.State.Settled() {
		watchSlot.of(u).tasks[t] = was
	}
}
