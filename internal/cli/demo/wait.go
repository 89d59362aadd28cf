package demo

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Intervals of the wait for the last task.
const (
	tickEvery    = 20 * time.Millisecond
	recheckEvery = 250 * time.Millisecond // between reads of the store when all seem done
	lookEvery    = 5 * time.Second        // otherwise: another process may work, too
	clockSkew    = time.Hour              // the server's clock may be behind ours
)

// wait blocks until every accepted task has settled, or none for Options.Patience, and returns the stored states.
// The observer only decides when a query is worthwhile.
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

// looks decides when to read the store, and records the last change.
type looks struct {
	every              time.Duration // while tasks run
	lastLook, lastMove time.Time
	ended, open        int
	allEnded           bool
}

// due looks immediately when the last task seems to have ended, else after a pause, because a look costs ten pages.
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

// found renews the patience when fewer tasks are open.
func (l *looks) found(now time.Time, open int) {
	l.lastLook = now
	if open < l.open {
		l.open, l.lastMove = open, now
	}
}
