package kernel

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// admission is what a worker may take now. The caller must end each with Engine.dismissed, which returns unused
// reservations.
type admission struct {
	leaving bool // the worker must finish its steps and stop polling
	room    int  // steps it may take
	until   task.Instant
	worker  int64
	// attempts reserved in a half-open period of the worker's breaker
	period   int64
	reserved int
	// promised slots of the worker; bounded with none promised: it waits for one
	bounded  bool
	promised int
}

// admit checks a worker's slots last, because counting its steps costs most. rounds counts the poll's earlier
// attempts.
func (e *Kernel) admit(ctx context.Context, w *task.Worker, want, rounds int) admission {
	if w.DrainsItself() {
		return admission{} // until it reports that its drain is over
	}
	if w.State.Leaving() {
		return admission{leaving: true}
	}
	if w.State == task.WorkerUnhealthy {
		return admission{}
	}
	if w.Cordoned() {
		return admission{}
	}
	adm := admission{room: want, worker: w.No}
	if w.BrokenAt != 0 && e.breakers.on() {
		state, until, period := w.Breaker(e.Now(), e.Cfg.WorkerBreaker.OpenFor)
		if state == task.BreakerOpen {
			return admission{until: until}
		}
		adm.reserved = e.breakers.reserve(w.No, period, want)
		adm.room, adm.until, adm.period = adm.reserved, until, period
	}
	if adm.room > 0 && e.bounds(w) {
		adm.bounded, adm.promised = true, e.occupy(ctx, w, adm.room, true)
		if adm.room = adm.promised; adm.room == 0 {
			adm.until = e.askAgain(adm.until, rounds)
		}
	}
	return adm
}

// askAgain is when a waiting poll checks again without an event: soon where other processes settle, then less and
// less often.
func (e *Kernel) askAgain(until task.Instant, rounds int) task.Instant {
	pause := countShortAlone
	if e.Shared() {
		pause = min(countShort<<min(rounds, 10), e.Cfg.PollInterval)
	}
	again := e.Now().Add(pause)
	if until != 0 {
		again = min(again, until)
	}
	return again
}

func (e *Kernel) dismissed(a admission, taken int) {
	if unused := a.reserved - taken; unused > 0 {
		e.breakers.giveBack(a.worker, a.period, unused)
	}
	if a.bounded {
		e.occupancy.answer(a.worker, a.promised, taken)
	}
}

// until returns a channel that receives when the admission may change without an event, or nil.
func (e *Kernel) until(a admission) <-chan time.Time {
	if a.until == 0 {
		return nil
	}
	return time.After(max(a.until.Sub(e.Now()), time.Millisecond))
}
