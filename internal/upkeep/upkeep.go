package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker/internal/engine"
)

// batch bounds one transaction of a loop.
const batch = 500

// Upkeep is the set of loops of one process.
type Upkeep struct {
	engine *engine.Engine
	log    *slog.Logger
}

// New returns the loops of an engine.
func New(e *engine.Engine, log *slog.Logger) *Upkeep { return &Upkeep{e, log} }

// loop is a rhythm around a verb. A failure is logged, and tried again with the
// next tick: a store that is away for a while must not end the upkeep.
type loop struct {
	name  string
	every time.Duration
	// once handles one batch and reports whether more may be due.
	once func(context.Context) (n int, more bool, err error)
}

// Run runs every loop until ctx ends. It blocks.
func (u *Upkeep) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, l := range []loop{u.leases(), u.workers(), u.deadlines(), u.retention()} {
		g.Go(func() error { return u.run(ctx, l) })
	}
	g.Go(func() error { return u.timers(ctx) })
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// RunOnce runs every loop's work until nothing is due, in a fixed order: for
// tests and simulations with a clock of their own.
func (u *Upkeep) RunOnce(ctx context.Context) error {
	fire := loop{name: "timers", once: u.fire}
	for _, l := range []loop{fire, u.leases(), u.workers(), u.deadlines(), u.retention()} {
		for more := true; more; {
			var err error
			if _, more, err = l.once(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *Upkeep) run(ctx context.Context, l loop) error {
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

// drain runs batches until nothing is due, and says so when something was.
func (u *Upkeep) drain(ctx context.Context, l loop) {
	total := 0
	for more := true; more && ctx.Err() == nil; {
		n, again, err := l.once(ctx)
		if err != nil {
			if ctx.Err() == nil {
				u.log.Error("upkeep failed; it is tried again", "loop", l.name, "error", err)
			}
			return
		}
		total += n
		more = again
	}
	if total > 0 {
		u.log.Debug("upkeep", "loop", l.name, "handled", total)
	}
}
