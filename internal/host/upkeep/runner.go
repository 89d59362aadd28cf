package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Loop is work repeated at an interval. Name, Every and Once suffice; the other fields set how it shares a process,
// and a store, with other work.
type Loop struct {
	// Name identifies the loop in the log and in turns.
	Name  string
	Every time.Duration
	// Once handles one batch and returns its size, and whether more may be due. An error is logged, and Once runs
	// again at the next interval, because outages must not end the upkeep. A *due.Error reports rows that delay no
	// other: it is logged, and the loop continues.
	Once func(context.Context) (n int, more bool, err error)

	// Everywhere lets the loop run in several processes without turns.
	Everywhere bool
	// ReadsOnly: Once may succeed while the store accepts no writes, so its success does not prove that heartbeats
	// can be stored.
	ReadsOnly bool
	// Able reports whether this process can do the work now; otherwise it leaves its turn to others. nil: always.
	Able func() bool
	// Keep is how long a turn lasts without renewal; 0 derives it from Every.
	Keep time.Duration
	// Next returns when the next work is due, 0 for unknown. Once runs then if the interval has not passed yet.
	// nil: never.
	Next func() task.Instant
	// Polite pauses between two batches of one interval.
	Polite bool
}

// hold bounds how long a loop stands still after its process died.
func (l *Loop) hold() time.Duration {
	if l.Keep > 0 {
		return l.Keep
	}
	return patience(l.Every)
}

// patience is how long work at an interval may fail before that counts as an outage.
func patience(every time.Duration) time.Duration { return max(3*every, 5*time.Second) }

// Host is a Runner's process. An Engine is one.
type Host interface {
	// Now returns the time.
	Now() task.Instant
	// Turn requests the turn of a loop for hold; 0 releases it.
	Turn(ctx context.Context, loop string, hold time.Duration) (bool, error)
	// Resume follows an outage of the store, before any decision.
	Resume(ctx context.Context) error
	// StepOver stores for operators that a loop stepped over rows.
	StepOver(ctx context.Context, loop string, rows *due.Error) error
}

// Runner runs loops, each in one process of a store at a time, except with Everywhere. It is safe for concurrent
// use.
type Runner struct {
	host    Host
	log     *slog.Logger
	contact contact
}

// NewRunner returns a Runner. If no loop has reached the store for longer than outage, Host.Resume runs before the
// next batch.
func NewRunner(host Host, log *slog.Logger, outage time.Duration) *Runner {
	r := &Runner{host: host, log: log, contact: contact{limit: outage}}
	r.contact.begin(host.Now())
	return r
}

// running is a Loop with the state of its turn.
type running struct {
	Loop

	ours bool // this process had, or may have had, the turn at its last request
}

// Run runs a loop until ctx ends, and returns the reason, never nil. The first batch runs immediately. On return it
// releases the turn.
func (r *Runner) Run(ctx context.Context, loop Loop) error {
	l := &running{Loop: loop}
	defer r.giveUp(ctx, l)
	tick := time.NewTicker(l.Every)
	defer tick.Stop()
	for {
		r.drain(ctx, l)
		select {
		case <-tick.C:
		case <-r.due(l):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// due receives when the next work is due, if known and the turn is ours.
func (r *Runner) due(l *running) <-chan time.Time {
	if l.Next == nil || !l.ours && !l.Everywhere {
		return nil
	}
	next := l.Next()
	if next == 0 {
		return nil
	}
	wait := next.Sub(r.host.Now())
	if wait >= l.Every { // the tick is earlier
		return nil
	}
	return time.After(max(wait, soonest))
}

// drain runs batches until nothing is due or another process has the turn, and logs the number of items.
func (r *Runner) drain(ctx context.Context, l *running) {
	total := 0
	for more := true; more && ctx.Err() == nil; {
		began := r.host.Now()
		n, again, err := r.batch(ctx, l)
		if err != nil {
			if ctx.Err() == nil {
				r.log.Error("upkeep failed; retrying at the next interval", "loop", l.Name, "error", err)
			}
			return
		}
		total += n
		if more = again; more && l.Polite {
			// as long as the batch took: half of the time is for others
			_ = clock.Sleep(ctx, min(max(r.host.Now().Sub(began), soonest), time.Second))
		}
	}
	if total > 0 {
		r.log.Debug("upkeep", "loop", l.Name, "handled", total)
	}
}

// batch handles one batch if this process has the turn. It requests the turn for each batch, so that a long drain
// does not lose it.
func (r *Runner) batch(ctx context.Context, l *running) (n int, more bool, err error) {
	if l.Able != nil && !l.Able() {
		r.giveUp(ctx, l)
		l.ours = false
		return 0, false, nil
	}
	if r.contact.lost(r.host.Now()) {
		// before any decision, and before another process can see that this one is back
		if err := r.resume(ctx); err != nil {
			return 0, false, err
		}
	}
	if !l.Everywhere {
		if l.ours, err = r.askTurn(ctx, l); err != nil {
			l.ours = true // perhaps only the answer was lost
			return 0, false, err
		}
	}
	if l.ours || l.Everywhere {
		n, more, err = l.Once(ctx)
		if rows := (*due.Error)(nil); errors.As(err, &rows) {
			r.log.Warn("rows are stepped over; each is tried again within a minute", "loop", l.Name, "error", err)
			err = r.host.StepOver(ctx, l.Name, rows)
		}
		if err != nil {
			return 0, false, err
		}
	}
	if l.ReadsOnly {
		return n, more, nil
	}
	if away := r.contact.made(r.host.Now()); away > 0 {
		r.log.Warn("the store was out of reach; extending all leases by the length of one", "for", away)
	}
	return n, more, nil
}

// resume extends all leases by their length.
func (r *Runner) resume(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longestAsk)
	defer cancel()
	return r.host.Resume(ctx)
}

const longestAsk = 5 * time.Second

// askTurn ignores the end of ctx: an abandoned request may be granted after the turn was released.
func (r *Runner) askTurn(ctx context.Context, l *running) (bool, error) {
	if err := ctx.Err(); err != nil {
		return l.ours, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestAsk)
	defer cancel()
	return r.host.Turn(ctx, l.Name, l.hold())
}

// goodbye bounds the release of a turn by a stopping process.
const goodbye = 3 * time.Second

// giveUp releases the turn for immediate use by another process. If that fails, the turn expires.
func (r *Runner) giveUp(ctx context.Context, l *running) {
	if !l.ours {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if _, err := r.host.Turn(ctx, l.Name, 0); err != nil {
		r.log.Debug("a turn was not given up; it expires", "loop", l.Name, "error", err)
	}
}
