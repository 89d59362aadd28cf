package engine

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// admission is what a worker may take now. Every poll begins with one, and gets another
// whenever it is woken, before anything is claimed for it. A caller must end each with
// Engine.dismissed, which gives back what was reserved and not used.
type admission struct {
	leaving bool // the worker must finish its steps and stop polling
	room    int  // steps it may take; 0: none for now
	until   task.Instant
	worker  int64
	// attempts reserved in a half-open period of the worker's breaker
	period   int64
	reserved int
	// slots of the worker that were promised; with bounded and none, it waits for one
	bounded  bool
	promised int
}

// admit returns how many of the wanted steps a worker may take. rounds is how often the poll
// has asked before. The limits are checked from the cheapest to the dearest: the state of the
// worker, its circuit breaker, then the slots that it has left, for which the engine counts
// what it holds.
func (e *Engine) admit(ctx context.Context, w *task.Worker, want, rounds int) admission {
	if w.DrainsItself() {
		return admission{} // until it is heard from and drains no more: it knows of the drain
	}
	if w.State.Leaving() {
		return admission{leaving: true}
	}
	if w.State == task.WorkerUnhealthy {
		return admission{} // until a probe succeeds
	}
	if w.Cordoned() {
		return admission{} // until an operator uncordons it
	}
	adm := admission{room: want, worker: w.No}
	if w.BrokenAt != 0 && e.breakers.on() {
		state, until, period := w.Breaker(e.instant(), e.cfg.WorkerBreaker.OpenFor)
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

// askAgain is the time at which a poll that waits for a slot of its worker checks again, in case no event reaches it:
// soon where other processes settle, then less and less often.
func (e *Engine) askAgain(until task.Instant, rounds int) task.Instant {
	pause := countShortAlone
	if e.Shared() {
		pause = min(countShort<<min(rounds, 10), e.cfg.PollInterval)
	}
	again := e.instant().Add(pause)
	if until != 0 {
		again = min(again, until)
	}
	return again
}

// dismissed ends an admission with the number of steps taken.
func (e *Engine) dismissed(a admission, taken int) {
	if unused := a.reserved - taken; unused > 0 {
		e.breakers.giveBack(a.worker, a.period, unused)
	}
	if a.bounded {
		e.occupancy.answer(a.worker, a.promised, taken)
	}
}

// until returns a channel that receives when the admission may change without an event; nil
// when it cannot. The channel is made anew for each wait; a past time fires within a
// millisecond.
func (e *Engine) until(a admission) <-chan time.Time {
	if a.until == 0 {
		return nil
	}
	return time.After(max(a.until.Sub(e.instant()), time.Millisecond))
}
