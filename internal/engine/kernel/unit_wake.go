package kernel

import "github.com/taskerhq/tasker/internal/model/task"

type wakeups struct {
	queued      map[int64]int // ready steps that wait on their route
	settled     []*task.Task
	endedLeases map[int64]int // by worker
	count       int64         // the last count before the unit; see occupancy
	due         task.Instant  // the earliest time set in Timers; 0: none
}

func (wu *wakeups) leaseEnded(worker int64) {
	if wu.endedLeases == nil {
		wu.endedLeases = map[int64]int{}
	}
	wu.endedLeases[worker]++
}

// DueAt spares the timers' loop the wait for its tick.
func (wu *wakeups) DueAt(at task.Instant) {
	if wu.due == 0 || at < wu.due {
		wu.due = at
	}
}
