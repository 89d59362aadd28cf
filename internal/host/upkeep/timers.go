package upkeep

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// fire makes due steps ready, and lets due steps pass rates. It also sends the next due time of both to
// Engine.NextDue: fire must resend whatever was sent there, because the alarm keeps only one time.
func (u *Upkeep) fire(ctx context.Context) (int, bool, error) {
	n, err := u.engine.FireTimers(ctx, batch)
	if err == nil {
		err = u.engine.AdmitDue(ctx)
	}
	return n, n == batch, err
}

// regular runs fire at the interval, which also finds steps of other processes.
func (u *Upkeep) regular() Loop {
	return Loop{Name: "timers", Every: u.engine.Config().UpkeepInterval, Once: u.fire}
}

// soonest bounds the firing of successive steps: those within one moment form a batch.
const soonest = time.Millisecond

// alarm is the earliest due time known to this process; 0 for none.
type alarm struct {
	at   task.Instant
	wake <-chan time.Time // receives at that time
}

// timers fires due steps with every tick if this process has the turn, and in between at the exact due time: a
// retry after 50 ms takes 50 ms. That needs no turn: two firing processes skip each other's steps. A later due time
// need not be kept, because firing returns the next.
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

// untilDue blocks until the tick, the earliest due time, or the end of ctx, and reports whether the due time has
// come. It reads no due times in between: firing sends the next one and would wake itself.
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
