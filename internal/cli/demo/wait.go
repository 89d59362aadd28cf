package demo

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// How the wait for the last task goes on.
const (
	tickEvery    = 20 * time.Millisecond
	recheckEvery = 250 * time.Millisecond // between two reads of the store when all seem done
	lookEvery    = 5 * time.Second        // when not: another process may be working too
	clockSkew    = time.Hour              // the server's clock may be behind ours
)

// wait blocks until every accepted task has settled, or none has for Options.Patience. It returns the latest
// states from the store.
//
// The observer cheaply decides when a query is worthwhile; only the store's answer counts.
func (r *run) wait(ctx context.Context, bar *progress) (map[uuid.UUID]tasker.TaskState, error) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	var (
		settled map[uuid.UUID]tasker.TaskState
		total   = len(r.got.accepted)
		look    = looks{every: min(lookEvery, r.opts.Patience), lastLook: time.Now(), lastMove: time.Now(), open: total}
	)
	for {
		so := r.seen.counts()
		bar.show(time.Now(), so, total)
		if look.due(time.Now(), so.ended, total) {
			var err error
			if settled, err = finalStates(ctx, r.client, r.correlationID, r.started.Add(-clockSkew)); err != nil {
				return settled, err
			}
			left := open(r.got.accepted, settled)
			if look.found(time.Now(), left); left == 0 || time.Since(look.lastMove) > r.opts.Patience {
				return settled, nil
			}
		}
		select {
		case <-ctx.Done():
			return settled, ctx.Err()
		case <-tick.C:
		}
	}
}

// looks decides when to read the store, and records the time of the last change.
type looks struct {
	every              time.Duration // while tasks are on their way
	lastLook, lastMove time.Time
	ended, open        int
	allEnded           bool
}

// due reports whether to look now: at once when the last task has ended as far as the observer can tell, else after a
// pause. Looking costs ten pages, so it is not done at every tick.
func (l *looks) due(now time.Time, ended, total int) bool {
	if ended != l.ended {
		l.ended, l.lastMove = ended, now
	}
	if ended < total {
		return now.Sub(l.lastLook) >= l.every
	}
	first := !l.allEnded
	l.allEnded = true
	return first || now.Sub(l.lastLook) >= recheckEvery
}

// found notes what a look has found: fewer open tasks are progress, which renews the patience.
func (l *looks) found(now time.Time, open int) {
	l.lastLook = now
	if open < l.open {
		l.open, l.lastMove = open, now
	}
}
