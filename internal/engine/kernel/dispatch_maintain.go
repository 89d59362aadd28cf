package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	fillBatch = 5000
	// fillHold is how long filling may stall before another process takes over.
	fillHold = 15 * time.Second
	// headOfQueue is the number of steps of each route that one sweep reads.
	headOfQueue = 1000
)

// MaintainDispatch returns to a complete dispatcher, leaves one that fails, and blocks while it fills one. The error
// is the store's or that of ctx; failures of the dispatcher are tried again in the next round.
func (e *Kernel) MaintainDispatch(ctx context.Context) error {
	if e.coordinator != nil {
		return e.coordinator.coordinate(ctx)
	}
	g := e.dispatch
	if g == nil {
		return nil
	}
	err := g.d.Check(ctx)
	g.reachable.Store(err == nil || errors.Is(err, ErrDispatchLost))
	switch {
	case g.on() && err == nil:
		return nil
	case g.on():
		g.failed(err)
		return e.dispatch.persistLeases(ctx)
	case g.mustPersist():
		return e.dispatch.persistLeases(ctx)
	case err == nil:
		return e.dispatch.rejoin(ctx)
	case errors.Is(err, ErrDispatchLost):
		return e.dispatch.refill(ctx)
	default:
		g.failed(err)
		return nil
	}
}

func (g *dispatchQueue) rejoin(ctx context.Context) error {
	known, err := g.catchUp(ctx)
	switch {
	case err != nil:
		return g.fallBack(ctx, err)
	case !known:
		return g.refill(ctx)
	}
	if err := g.sweep(ctx, g.used.Load(), g.e.Now()); err != nil {
		return err
	}
	g.switchOver()
	return nil
}

func (g *dispatchQueue) refill(ctx context.Context) error {
	filled, err := g.fill(ctx)
	if filled {
		g.switchOver()
	}
	return err
}

func (g *dispatchQueue) switchOver() {
	g.flush()
	g.submitted.clear()
	g.used.Store(true)
	if g.reachable.Load() && g.state.CompareAndSwap(dispatchOff, dispatchOn) {
		g.e.waiters.wakeAll()
	}
}

// fill reports false when another process fills the dispatcher.
func (g *dispatchQueue) fill(ctx context.Context) (bool, error) {
	d := g.d
	g.startOver()
	mine, err := d.Reload(ctx, fillHold)
	switch {
	case err != nil:
		return false, g.fallBack(ctx, err)
	case !mine:
		return false, nil
	}
	routes, err := g.e.Store.Routes(ctx)
	if err != nil {
		return false, fmt.Errorf("fill the dispatcher: %w", err)
	}
	for _, r := range routes {
		mine := true // the turn to fill it
		err := g.readySteps(ctx, r.ID, fillBatch, g.e.Now().Add(clockSlack), func(steps []Offered) (bool, error) {
			err := d.Offer(ctx, steps)
			if err == nil {
				mine, err = d.Reload(ctx, fillHold) // extends the turn
			}
			if err != nil {
				mine = false
				return false, g.fallBack(ctx, err)
			}
			return mine, nil
		})
		if err != nil {
			return false, fmt.Errorf("fill the dispatcher: %w", err)
		}
		if !mine {
			return false, nil // out of reach, or another process has taken over
		}
	}
	if err := d.Loaded(ctx); err != nil {
		return false, g.fallBack(ctx, err)
	}
	return true, nil
}

// readySteps calls each with the steps that were ready by a time, lowest key first, until each returns false. It
// leaves out steps that rest, because the claims of this process would only take them out again.
func (g *dispatchQueue) readySteps(ctx context.Context, route int64, batch int, by task.Instant,
	each func([]Offered) (more bool, err error),
) error {
	key, id := int64(math.MinInt64), task.ID{}
	for {
		steps, err := g.e.Places.ReadyAfter(ctx, route, key, id, batch)
		if err != nil || len(steps) == 0 {
			return err
		}
		offers, resting, now := make([]Offered, 0, len(steps)), 0, g.e.Now()
		for _, s := range steps {
			switch {
			case g.e.due.claims.Rests(readyStep{s.ID, route}, now):
				resting++
			case s.ReadyAt <= by:
				offers = append(offers, offeredAs(s))
			}
		}
		if len(offers) > 0 || resting == 0 {
			if more, err := each(offers); err != nil || !more {
				return err
			}
		}
		if len(steps) < batch {
			return nil
		}
		last := steps[len(steps)-1]
		key, id = last.Key, last.ID
	}
}

// SweepDispatch offers ready steps that the dispatcher lacks because a process failed. Such steps end up at the head
// of their queue.
func (e *Kernel) SweepDispatch(ctx context.Context) error {
	if !e.dispatch.on() {
		return nil
	}
	return e.dispatch.sweep(ctx, false, e.Now().Add(-sweepAge))
}

// sweepAge is how long a step's own process may keep it in its cache of submitted steps.
const sweepAge = time.Second

func (g *dispatchQueue) sweep(ctx context.Context, all bool, by task.Instant) error {
	g.flush()
	routes, err := g.e.Store.Routes(ctx)
	if err != nil {
		return fmt.Errorf("look for steps that the dispatcher does not know: %w", err)
	}
	for _, r := range routes {
		if !g.reachable.Load() {
			return nil // the engine continues without it
		}
		err := g.readySteps(ctx, r.ID, headOfQueue, by, func(steps []Offered) (bool, error) {
			if len(steps) == 0 {
				return false, nil
			}
			missing, err := g.d.Missing(ctx, steps)
			if err != nil {
				return false, g.fallBack(ctx, err)
			}
			if missing, err = g.stillReady(ctx, missing); err != nil || len(missing) == 0 {
				return all, err
			}
			// removed first: the dispatcher may have missed the end of a lease
			g.outbox.Post(dispatchUpdate{gone: removals(missing), fresh: missing, queued: map[int64]int{r.ID: len(missing)}})
			return true, nil
		})
		if err != nil {
			return fmt.Errorf("look for steps that the dispatcher does not know: %w", err)
		}
	}
	return nil
}

func removals(steps []Offered) []Removal {
	out := make([]Removal, len(steps))
	for i, s := range steps {
		out[i].Offered = s
	}
	return out
}

func (g *dispatchQueue) stillReady(ctx context.Context, steps []Offered) ([]Offered, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	ids := make([]task.ID, len(steps))
	for i, s := range steps {
		ids[i] = s.Step
	}
	var ready []Offered
	err := g.e.Transact(ctx, func(ctx context.Context, tx Tx) error {
		ready = nil
		works, err := tx.Work(ctx, ids)
		if err != nil {
			return err
		}
		for i, w := range works {
			if w.Step != nil && w.Step.OnRoute() && w.Step.Token == steps[i].Token &&
				w.Step.Key == steps[i].Key {
				ready = append(ready, steps[i])
			}
		}
		return nil
	})
	return ready, err
}

// FollowDispatch wakes polls for steps that other processes offered. It blocks until ctx ends or the connection is
// lost, and returns the reason.
func (e *Kernel) FollowDispatch(ctx context.Context) error {
	return e.dispatch.d.Listen(ctx, func(routes map[int64]int) {
		e.RestoreRoutes(routes)
		e.waiters.ready(routes)
	})
}

// FlushDispatch waits until the dispatcher has everything committed before, or fails.
func (e *Kernel) FlushDispatch() {
	if e.dispatch != nil {
		e.dispatch.flush()
	}
}

// Dispatched reports whether a dispatcher is configured.
func (e *Kernel) Dispatched() bool { return e.dispatch != nil }

// LeaveDispatch announces that this process, which is about to end, hands out no more steps. A later poll rejoins.
func (e *Kernel) LeaveDispatch(ctx context.Context) error {
	if e.coordinator == nil {
		return nil
	}
	return e.coordinator.leaveForGood(ctx)
}
