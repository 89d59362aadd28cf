package engine

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The transaction that makes steps ready also evaluates conditions, up to a bound. Timers evaluate the rest, spread
// over time so that other transactions run in between.

const (
	// workAtOnce is in units of expr.Program.Work, some 30 ms. The last expression may exceed it.
	workAtOnce = 1 << 20
	// workPerSecond is about half of what the timers could do.
	workPerSecond = 16 * workAtOnce
)

// backlog is the work that a task leaves to later transactions.
type backlog struct {
	each  int
	later int
}

func (c control) backlogOf(t *task.Task) *backlog {
	state := evaluationSlot.of(c.u)
	if state.backlog[t.ID] == nil {
		if state.backlog == nil {
			state.backlog = map[task.ID]*backlog{}
		}
		state.backlog[t.ID] = &backlog{}
	}
	return state.backlog[t.ID]
}

// queueUp puts a step behind those of its task that were put off before.
func (c control) queueUp(w Work) error {
	b := c.backlogOf(w.Task)
	at := c.u.now.Add(time.Duration(b.later) * time.Microsecond / (workPerSecond / 1_000_000))
	b.later += b.each
	return c.putOff(w, at)
}
