package engine

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The transaction that makes steps ready also evaluates their conditions, and the results of all tasks share it. So it
// takes a bounded amount of work: steps beyond that are looked at by the timers, a bounded amount in each of their
// transactions, and spread over time, so that others come in between. Conditions over small values never come to that.

const (
	// workAtOnce bounds the work on expressions in a transaction, as expr.Program.Work counts it: some 30 ms. The last
	// expression may go beyond it.
	workAtOnce = 1 << 20
	// workPerSecond is the work for which the timers make time, about half of what they could do.
	workPerSecond = 16 * workAtOnce
)

// backlog is what a task leaves for later transactions.
type backlog struct {
	each  int // the work on its last expression
	later int // the work that was put off
}

func (c control) backlogOf(t *task.Task) *backlog {
	state := c.state()
	if state.backlog[t.ID] == nil {
		if state.backlog == nil {
			state.backlog = map[task.ID]*backlog{}
		}
		state.backlog[t.ID] = &backlog{}
	}
	return state.backlog[t.ID]
}

// queueUp puts off a step because the transaction has done enough work: until the steps of its task that were put off
// before have had their time. The steps of another task do not wait for those.
func (c control) queueUp(w Work) error {
	b := c.backlogOf(w.Task)
	at := c.u.now.Add(time.Duration(b.later) * time.Microsecond / (workPerSecond / 1_000_000))
	b.later += b.each
	return c.putOff(w, at)
}
