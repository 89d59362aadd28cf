package engine

import (
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// admission is what a worker may take just now. Every poll begins with one, and
// gets another whenever it is woken, before anything is claimed for it, wherever
// that is claimed from.
type admission struct {
	leaving bool // the worker is to finish what it has and poll no more
	room    int  // how many steps it may take; 0: none, for now
	until   task.Instant
	// attempts reserved in a half-open period of the worker's breaker
	worker, period int64
	reserved       int
}

// admit says how many of the steps wanted a worker may take.
func (e *Engine) admit(w *task.Worker, want int) admission {
	if w.State.Leaving() {
		return admission{leaving: true}
	}
	if w.State == task.WorkerUnhealthy {
		return admission{} // until a probe succeeds
	}
	if w.BrokenAt == 0 || !e.breakers.on() {
		return admission{room: want}
	}
	state, until, period := w.Breaker(e.instant(), e.cfg.WorkerBreaker.OpenFor)
	if state == task.BreakerOpen {
		return admission{until: until}
	}
	n := e.breakers.reserve(w.No, period, want)
	return admission{room: n, until: until, worker: w.No, period: period, reserved: n}
}

// dismissed ends an admission of which so many steps were taken.
func (e *Engine) dismissed(a admission, taken int) {
	if unused := a.reserved - taken; unused > 0 {
		e.breakers.giveBack(a.worker, a.period, unused)
	}
}

// until returns a channel that receives when the admission may have another end
// by itself; nil when it has none.
func (e *Engine) until(a admission) <-chan time.Time {
	if a.until == 0 {
		return nil
	}
	return time.After(max(a.until.Sub(e.instant()), time.Millisecond))
}
