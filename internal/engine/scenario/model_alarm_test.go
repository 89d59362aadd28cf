package scenario_test

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/model/task"
)

// keepUp runs the background loops until nothing is due. It then runs them again and checks that they report the next
// due time: the loop of the timers forgets its time and would wait for a tick.
func (w *world) keepUp() error {
	if err := w.upkeep.RunOnce(w.ctx); err != nil {
		return err
	}
	if err := w.admit(); err != nil {
		return err
	}
	w.told()
	if err := w.upkeep.RunOnce(w.ctx); err != nil {
		return err
	}
	next, err := w.nextDue()
	told := w.told()
	if now := w.engine.Now(); err == nil && next > now && next <= now.Add(w.engine.Config().UpkeepInterval) &&
		(told == 0 || told > next) {
		err = fmt.Errorf("something is due in %v; what is told is %d, not %d", next.Sub(now), told, next)
	}
	return err
}

// told returns the earliest time reported since the last call, 0 for none.
func (w *world) told() task.Instant {
	select {
	case at := <-w.engine.NextDue():
		return at
	default:
		return 0
	}
}

// nextDue returns when the next timer ends, or the next step may pass a rate.
func (w *world) nextDue() (task.Instant, error) {
	next, err := w.store.GateStore().NextGate(w.ctx)
	if err != nil {
		return 0, err
	}
	s, err := w.store.QueueStore().First(w.ctx, task.Timers, int64(w.engine.Now())+1)
	if s != nil && (next == 0 || s.Key < int64(next)) {
		next = task.Instant(s.Key)
	}
	return next, err
}
