package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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
	for _, l := range slices.Concat([]Loop{u.leases(), u.workers(), u.probes(), u.deadlines(), u.retention(),
		u.staleness(),
		u.unserved(), u.failures(), u.promotion(), u.ordering(), u.children(), u.signals(), u.pauses(), u.pauseEnds(),
		u.pauseReleases(), u.limits(), u.permits(), u.outages(), u.outageTidying(), u.largeResults()}, u.also) {
		g.Go(func() error { return r.Run(ctx, l) })
	}
	g.Go(func() error { return u.timers(ctx, r) })
	g.Go(func() error { return u.rekey(ctx, r) })
	if u.engine.Dispatched() || u.engine.Shared() {
		g.Go(func() error { return r.Run(ctx, u.dispatch()) })
	}
	if u.engine.Dispatched() {
		g.Go(func() error { return r.Run(ctx, u.held()) })
		g.Go(func() error { return r.Run(ctx, u.sweep()) })
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

// RunOnce runs every loop until nothing is due, in a fixed order and without turns: for tests and simulations with
// their own clock.
func (u *Upkeep) RunOnce(ctx context.Context) error {
	for _, l := range slices.Concat([]Loop{u.pauses(), u.pauseEnds(), u.pauseReleases(), u.ordering(), u.regular(),
		u.children(), u.signals(), u.limits(),
		u.rekeying(), u.promotion(), u.dispatch(), u.sweep(), u.held(), u.outages(),
		u.leases(), u.outages(),
		u.workers(), u.probes(), u.deadlines(), u.retention(), u.staleness(), u.unserved(), u.failures(),
		u.permits(), u.outages(), u.outageTidying(), u.largeResults()}, u.also) {
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
