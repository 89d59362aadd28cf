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
	for ctx.Err() == nil {
		u.drain(ctx, l)
		u.untilDue(ctx, tick.C)
	}
	return ctx.Err()
}

// untilDue blocks until the tick, the earliest due time that it is told of, or
// the end of ctx. What is due is not looked at in between: firing tells of what
// comes next, and would wake itself.
func (u *Upkeep) untilDue(ctx context.Context, tick <-chan time.Time) {
	var (
		at   task.Instant     // the earliest time told; 0: none
		wake <-chan time.Time // when it is
	)
	for {
		select {
		case <-tick:
			return
		case <-wake:
			return
		case due := <-u.engine.NextDue():
			if at == 0 || due < at {
				at = due
				wake = time.After(max(due.Sub(u.engine.Now()), soonest))
			}
		case <-ctx.Done():
			return
		}
	}
}
