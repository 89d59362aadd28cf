package flow

import (
	"time"

	"github.com/taskerhq/tasker/internal/engine/kernel"
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

func backlogOf(c kernel.Control, t *task.Task) *backlog {
	state := evaluationSlot.Of(c.U)
	if state.backlog[t.ID] == nil {
		if state.backlog == nil {
			state.backlog = map[task.ID]*backlog{}
		}
		state.backlog[t.ID] = &backlog{}
	}
	return state.backlog[t.ID]
}

// queueUp puts a step behind those of its task that were put off before.
func queueUp(c kernel.Control, w kernel.Work) error {
	b := backlogOf(c, w.Task)
	at := c.U.Now.Add(time.Duration(b.later) * time.Microsecond / (workPerSecond / 1_000_000))
	b.later += b.each
	return c.PutOff(w, at)
}
