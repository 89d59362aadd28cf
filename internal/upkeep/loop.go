package upkeep

import (
	"context"
	"time"
)

// loop is a rhythm around a verb. A failure is logged, and tried again with the
// next tick: a store that is away for a while must not end the upkeep.
type loop struct {
	name  string
	every time.Duration
	// once handles one batch and reports whether more may be due.
	once func(context.Context) (n int, more bool, err error)
	// free: it may run in several processes at once, and needs no turn.
	free bool
	// reads: it may do well while the store takes no writes, so that heartbeats fail.
	reads bool
	// able says whether this process can do it now, else it leaves its turn to others;
	// nil: always.
	able func() bool
	// keep is how long a turn is kept that is not renewed; 0 leaves it to the rhythm.
	keep time.Duration
	// polite lets other work pass between two batches of one tick.
	polite bool
	ours   bool // it was our turn when we asked last, or may have been
}

// hold is how long a turn is kept that is not renewed. It bounds how long a loop
// stands still when its process has died.
func (l *loop) hold() time.Duration {
	if l.keep > 0 {
		return l.keep
	}
	return patience(l.every)
}

// patience is how long something that happens in a rhythm may fail to.
func patience(every time.Duration) time.Duration { return max(3*every, 5*time.Second) }

// run ticks until ctx ends.
func (u *Upkeep) run(ctx context.Context, l *loop) error {
	defer u.giveUp(ctx, l)
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	for {
		u.drain(ctx, l)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drain runs batches until nothing is due, or it is another process's turn, and
// says so when something was.
func (u *Upkeep) drain(ctx context.Context, l *loop) {
	total := 0
	for more := true; more && ctx.Err() == nil; {
		began := u.engine.Now()
		n, again, err := u.batch(ctx, l)
		if err != nil {
			if ctx.Err() == nil {
				u.log.Error("upkeep failed; it is tried again", "loop", l.name, "error", err)
			}
			return
		}
		total += n
		if more = again; more && l.polite {
			// as long as the batch took: half of the time is for others
			pause(ctx, min(max(u.engine.Now().Sub(began), soonest), time.Second))
		}
	}
	if total > 0 {
		u.log.Debug("upkeep", "loop", l.name, "handled", total)
	}
}

// batch handles one batch, if it is our turn. The turn is asked for again with
// each, so that a long drain does not lose it.
func (u *Upkeep) batch(ctx context.Context, l *loop) (n int, more bool, err error) {
	if l.able != nil && !l.able() {
		u.giveUp(ctx, l)
		l.ours = false
		return 0, false, nil
	}
	if u.contact.lost(u.engine.Now()) {
		// before anything is decided, and before another process can see that somebody is there again
		if err := u.resume(ctx); err != nil {
			return 0, false, err
		}
	}
	if !l.free {
		if l.ours, err = u.askTurn(ctx, l); err != nil {
			l.ours = true // for all that is known: it may be the answer that got lost
			return 0, false, err
		}
	}
	if l.ours || l.free {
		if n, more, err = l.once(ctx); err != nil {
			return 0, false, err
		}
	}
	if l.reads {
		return n, more, nil
	}
	if away := u.contact.made(u.engine.Now()); away > 0 {
		u.log.Warn("the store was out of reach; leases that ran out meanwhile are held for one more", "for", away)
	}
	return n, more, nil
}

// resume holds all leases for the length of one.
func (u *Upkeep) resume(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longestAsk)
	defer cancel()
	return u.engine.Resume(ctx)
}

// longestAsk bounds how long asking for a turn takes.
const longestAsk = 5 * time.Second

// askTurn goes on when ctx ends: a question that is abandoned may be granted after
// the turn was given up.
func (u *Upkeep) askTurn(ctx context.Context, l *loop) (bool, error) {
	if err := ctx.Err(); err != nil {
		return l.ours, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestAsk)
	defer cancel()
	return u.engine.Turn(ctx, l.name, l.hold())
}

// goodbye bounds how long a process that stops takes to give up a turn.
const goodbye = 3 * time.Second

// giveUp lets another process have the turn at once. If that fails, it gets it
// a little later.
func (u *Upkeep) giveUp(ctx context.Context, l *loop) {
	if !l.ours {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if _, err := u.engine.Turn(ctx, l.name, 0); err != nil {
		u.log.Debug("a turn was not given up; it runs out by itself", "loop", l.name, "error", err)
	}
}

// pause blocks for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
