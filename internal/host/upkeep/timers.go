package upkeep

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// fire makes steps ready that are due, and lets steps pass rates that are. It also sends the next due time of both to
// Engine.NextDue: whatever is told there must be told again by what fire calls, because the alarm keeps one time.
func (u *Upkeep) fire(ctx context.Context) (int, bool, error) {
	n, err := u.engine.FireTimers(ctx, batch)
	if err == nil {
		err = u.engine.AdmitDue(ctx)
	}
	return n, n == batch, err
}

// regular is the loop of due steps at the interval, which also finds the steps of other
// processes.
func (u *Upkeep) regular() Loop {
	return Loop{Name: "timers", Every: u.engine.Config().UpkeepInterval, Once: u.fire}
}

// soonest bounds how often steps that are due one after the other are fired: those within the same moment form one
// batch.
const soonest = time.Millisecond

// alarm is the earliest due time known to this process; at is 0 for none.
type alarm struct {
	at   task.Instant
	wake <-chan time.Time // receives at that time
}

// timers fires due steps with every tick, when this process has the turn, and in between at the very moment that a step
// is due: a retry after 50 ms takes 50 ms. That needs no turn: two processes that fire at once skip each other's steps.
// A due time later than the one waited for need not be kept, because firing returns the next.
func (u *Upkeep) timers(ctx context.Context, r *Runner) error {
	regular := &running{Loop: u.regular()}
	exact := &running{Loop: Loop{Name: "timers", Once: u.fire, Everywhere: true}}
	defer r.giveUp(ctx, regular)
	tick := time.NewTicker(regular.Every)
	defer tick.Stop()
	var next alarm
	for l := regular; ctx.Err() == nil; {
		r.drain(ctx, l)
		if l.Everywhere || l.ours {
			next = alarm{}
		}
		if l = regular; u.untilDue(ctx, tick.C, &next) {
			l = exact
		}
	}
	return ctx.Err()
}

// untilDue blocks until the tick, the earliest due time that it receives, or the end of ctx, and reports whether that
// time has come. It reads no due times in between: firing sends the next one, and would wake itself.
func (u *Upkeep) untilDue(ctx context.Context, tick <-chan time.Time, next *alarm) bool {
	for {
		select {
		case <-tick:
			return false
		case <-next.wake:
			return true
		case due := <-u.engine.NextDue():
			if next.at == 0 || due < next.at {
				*next = alarm{due, time.After(max(due.Sub(u.engine.Now()), soonest))}
			}
		case <-ctx.Done():
			return false
		}
	}
}
