package upkeep

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// fire makes steps ready whose time has come.
func (u *Upkeep) fire(ctx context.Context) (int, bool, error) {
	n, err := u.engine.FireTimers(ctx, batch)
	return n, n == batch, err
}

// soonest bounds how often steps are fired that are due one after the other:
// those within the same moment go together.
const soonest = time.Millisecond

// timers fires what is due with every tick, and in between at the very moment
// that a step is due: a retry after 50 ms takes 50 ms. A due time later than the
// one waited for need not be kept, because firing tells the next.
func (u *Upkeep) timers(ctx context.Context) error {
	l := loop{name: "timers", once: u.fire}
	tick := time.NewTicker(u.engine.Config().UpkeepInterval)
	defer tick.Stop()
	var next *time.Timer
	var at task.Instant // when next fires; 0: not set
	wake := func() <-chan time.Time {
		if next == nil {
			return nil
		}
		return next.C
	}
	for {
		u.drain(ctx, l)
		select {
		case <-tick.C:
		case <-wake():
			at, next = 0, nil
		case due := <-u.engine.NextDue():
			if at == 0 || due < at {
				at = due
				next = time.NewTimer(max(due.Sub(u.engine.Now()), soonest))
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
