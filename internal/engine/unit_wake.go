package engine

import "github.com/taskerhq/tasker/internal/model/task"

// wakeups holds the wake-ups to send once a unit is committed.
type wakeups struct {
	queued      map[int64]int // steps that became ready and wait on their route
	settled     []*task.Task  // tasks that were settled
	endedLeases map[int64]int // leases that ended, by the number of the worker
	count       int64         // the last count of what workers hold before the unit; see occupancy
	due         task.Instant  // the earliest time that was set in Timers; 0: none
}

// leaseEnded records a freed slot of a worker.
func (wu *wakeups) leaseEnded(worker int64) {
	if wu.endedLeases == nil {
		wu.endedLeases = map[int64]int{}
	}
	wu.endedLeases[worker]++
}

// dueAt records a time that was set in Timers, so that its loop need not wait for the next
// tick.
func (wu *wakeups) dueAt(at task.Instant) {
	if wu.due == 0 || at < wu.due {
		wu.due = at
	}
}
