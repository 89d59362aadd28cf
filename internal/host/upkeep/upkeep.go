package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

// batch bounds the items of a transaction, so that claims and results do not wait long behind it.
const batch = 500

// Upkeep is the set of loops of one process.
type Upkeep struct {
	engine *engine.Engine
	log    *slog.Logger
	also   []Loop

	noticed atomic.Pointer[task.Scheduling] // the last logged order
}

// New returns the loops of an engine, and additional loops.
func New(e *engine.Engine, log *slog.Logger, also ...Loop) *Upkeep {
	return &Upkeep{engine: e, log: log, also: also}
}

// Run runs every loop until ctx ends. Among processes that share a store, one runs each loop at a time; all follow
// the others' changes.
func (u *Upkeep) Run(ctx context.Context) error {
	r := NewRunner(u.engine, u.log, patience(u.engine.Config().UpkeepInterval))
	u.noticeOrder()
	g, ctx := errgroup.WithContext(ctx)
	for _, l := range u.loops() {
		switch {
		case l.again || l.idle:
		case l.run != nil:
			g.Go(func() error { return l.run(ctx, r) })
		default:
			g.Go(func() error { return r.Run(ctx, l.Loop) })
		}
	}
	if u.engine.Dispatched() {
		g.Go(func() error { return u.followDispatch(ctx) })
	}
	if u.engine.Shared() {
		g.Go(func() error { return u.listen(ctx) })
		g.Go(func() error { return u.follow(ctx) })
		g.Go(func() error { return u.tell(ctx) })
		g.Go(func() error { return r.Run(ctx, u.measure()) })
	}
	err := g.Wait()
	u.retire()
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// retire tells other nodes not to wait for this one. If it fails, they wait until its announcements expire.
func (u *Upkeep) retire() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	if err := u.engine.LeaveDispatch(ctx); err != nil {
		u.log.Debug("cannot announce the end of this node; other nodes will notice it", "error", err)
	}
}

// placed is a loop in the order of all loops.
type placed struct {
	Loop
	// run runs the loop instead of a Runner; nil: it is an ordinary one.
	run func(context.Context, *Runner) error
	// again: RunOnce runs it here once more, for what the loops before it have caused.
	again bool
	// idle: this process never has anything for it, so that Run leaves it out.
	idle bool
}

// loops returns the loops in the one order in which RunOnce runs them: pauses before what they hold back, what makes
// steps ready before what looks for steps that wait too long. Leases end before failures are counted, whether the
// dispatcher or the store has them.
func (u *Upkeep) loops() []placed {
	alone, shared := !u.engine.Dispatched(), u.engine.Shared()
	list := []placed{
		{Loop: u.pauses()}, {Loop: u.pauseEnds()}, {Loop: u.pauseReleases()},
		{Loop: u.ordering()},
		{Loop: u.regular(), run: u.timers},
		{Loop: u.children()}, {Loop: u.signals()},
		{Loop: u.limits()},
		{Loop: u.rekeying(), run: u.rekey},
		{Loop: u.promotion()},
		{Loop: u.dispatch(), idle: alone && !shared}, {Loop: u.sweep(), idle: alone}, {Loop: u.held(), idle: alone},
		{Loop: u.leases()},
		{Loop: u.outages()},
		{Loop: u.workers()}, {Loop: u.probes()},
		{Loop: u.deadlines()}, {Loop: u.retention()}, {Loop: u.staleness()}, {Loop: u.unserved()}, {Loop: u.failures()},
		{Loop: u.permits()},
		{Loop: u.outages(), again: true},
		{Loop: u.outageTidying()},
		{Loop: u.largeResults()},
	}
	for _, l := range u.also {
		list = append(list, placed{Loop: l})
	}
	return list
}

// RunOnce runs every loop's work until nothing is due, in the order of loops and without turns: for tests and
// simulations with their own clock.
func (u *Upkeep) RunOnce(ctx context.Context) error {
	for _, l := range u.loops() {
		for more := true; more; {
			var err error
			_, more, err = l.Once(ctx)
			if err != nil && !due.OnlyRows(err) {
				return err
			}
		}
	}
	return nil
}
