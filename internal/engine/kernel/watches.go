package kernel

import "github.com/taskerhq/tasker/internal/model/task"

// Watched is the live tasks that have changed, and their former states: their thresholds may be nearer now.
type Watched struct {
	U     *Unit
	Tasks map[*task.Task]task.State
}

var WatchSlot = NewSlot(func(u *Unit) *Watched { return &Watched{U: u, Tasks: map[*task.Task]task.State{}} })

func MustWatch(u *Unit, t *task.Task, was task.State) {
	if !t.State.Settled() {
		WatchSlot.Of(u).Tasks[t] = was
	}
}
