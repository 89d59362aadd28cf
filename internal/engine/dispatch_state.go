package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/coalesce"
	"github.com/taskerhq/tasker/internal/task"
)

// dispatchState is what the engine knows of its Dispatcher. With it, ready steps
// are claimed, started and kept alive there, and the store hears of an attempt
// only when it ends: the unit of work then adopts the lease. Whatever goes wrong
// with the dispatcher, the engine goes on with the store alone, and comes back
// once the dispatcher is complete again.
type dispatchState struct {
	d Dispatcher

	state     atomic.Int32
	reachable atomic.Bool // it answered when it was asked last
	caughtUp  atomic.Bool // it was told of all that was done while it was out of reach
	used      atomic.Bool // this process has claimed from it before
	gate      *gate       // nil where no other process works on the store

	mu            sync.Mutex
	held          map[task.ID]Hold // leases that this process granted or renewed
	room          int              // how many of them there may be until those that are over are looked for
	reason        error            // why the engine goes on without it
	missed        []Removal        // what went out of the queue and it was not told of
	missedTooMany bool             // they are too many to be remembered

	submitted *submittedCache
	outbox    *outbox
	persists  *coalesce.Group[struct{}, struct{}]
}

// States of a dispatching.
const (
	dispatchOff        = iota // the store is the queue
	dispatchPersisting        // leases that this process remembers have to be stored first
	dispatchSuspended         // they are; other processes have to store theirs. See coordinator
	dispatchOn
)

// errDispatchNew is why a process that was just started is its own queue.
var errDispatchNew = errors.New("it has not been filled yet")

func (e *Engine) newDispatchState(d Dispatcher) *dispatchState {
	if d == nil {
		return nil
	}
	g := &dispatchState{d: d, held: map[task.ID]Hold{}, reason: errDispatchNew, submitted: newSubmittedCache(), outbox: e.newOutbox()}
	g.persists = coalesce.New(callers, 1, func(calls []struct{}) ([]struct{}, error) {
		if e.coordinator != nil {
			return calls, e.coordinator.coordinate(context.Background())
		}
		return calls, e.persistLeases(context.Background()) // an error leaves it to MaintainDispatch
	})
	g.reachable.Store(true)
	if r, ok := e.store.(RowCacher); ok {
		r.CacheNewRows()
	}
	return g
}

// on reports whether steps are claimed from the dispatcher.
func (g *dispatchState) on() bool { return g != nil && g.state.Load() == dispatchOn }

// mustPersist reports whether steps are claimed from nowhere for a moment.
func (g *dispatchState) mustPersist() bool { return g != nil && g.state.Load() == dispatchPersisting }

// remember keeps leases in mind until they end here, or are long over: those that
// another process renews or ends are not heard of any more.
func (g *dispatchState) remember(holds []Hold, now task.Instant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range holds {
		if h.Token > 0 {
			g.held[h.Step] = h
		}
	}
	if len(g.held) <= g.room {
		return
	}
	maps.DeleteFunc(g.held, func(_ task.ID, h Hold) bool { return h.Until.Add(forgottenAfter) < now })
	g.room = max(2*len(g.held), minRemembered)
}

const (
	// forgottenAfter is after how long a lease that has run out is taken for one that another
	// process has looked after.
	forgottenAfter = time.Minute
	// minRemembered is how many leases are kept without a look at whether they are over.
	minRemembered = 1000
)

// forget drops leases that have ended.
func (g *dispatchState) forget(steps []Removal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range steps {
		if h, ok := g.held[s.Step]; ok && s.ends(h) {
			delete(g.held, s.Step)
		}
	}
}

// leaseOf returns a lease that this process remembers.
func (g *dispatchState) leaseOf(id task.ID) (Hold, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h, ok := g.held[id]
	return h, ok
}

// remembered are all leases that are not long over.
func (g *dispatchState) remembered(now task.Instant) []Hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	holds := make([]Hold, 0, len(g.held))
	for id, h := range g.held {
		if h.Until.Add(time.Hour) < now {
			delete(g.held, id) // somebody else has looked after it
			continue
		}
		holds = append(holds, h)
	}
	return holds
}

// maxMissed bounds what is remembered of what the dispatcher was not told of. Past it
// the dispatcher is filled anew.
const maxMissed = 100_000

// addMissed remembers what the dispatcher was not told of: it would hand it out again.
func (g *dispatchState) addMissed(gone []Removal) {
	if len(gone) == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.missedTooMany = g.missedTooMany || len(g.missed)+len(gone) > maxMissed; g.missedTooMany {
		g.missed = nil
		return
	}
	g.missed = append(g.missed, gone...)
}

// catchUp tells the dispatcher what it missed. It reports false when it has missed
// too much.
func (g *dispatchState) catchUp(ctx context.Context) (bool, error) {
	g.mu.Lock()
	gone, overran := g.missed, g.missedTooMany
	g.missed = nil
	g.mu.Unlock()
	if overran || len(gone) == 0 {
		return !overran, nil
	}
	if err := g.d.Remove(ctx, gone); err != nil {
		g.addMissed(gone)
		return true, err
	}
	return true, nil
}

// startOver forgets what the dispatcher missed: it is filled from the store.
func (g *dispatchState) startOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missed, g.missedTooMany = nil, false
}

// failed notes that the dispatcher did not do what it was asked for: the engine
// goes on without it.
func (g *dispatchState) failed(err error) {
	g.reachable.Store(errors.Is(err, ErrDispatchLost))
	g.mu.Lock()
	g.reason = err
	g.mu.Unlock()
	g.caughtUp.Store(false)
	g.suspendFrom(dispatchOn, dispatchPersisting)
}

func (g *dispatchState) suspendFrom(state, to int32) {
	if g.state.CompareAndSwap(state, to) && g.gate != nil {
		g.gate.shut()
	}
	g.submitted.clear() // others may claim what is on it before this process comes back
}

// suspend claims from nowhere. See coordinator.
func (g *dispatchState) suspend() {
	g.suspendFrom(dispatchOn, dispatchPersisting)
	g.suspendFrom(dispatchOff, dispatchSuspended)
}

// resume claims from the dispatcher, or from the store, from now on. See coordinator.
func (g *dispatchState) resume(there bool) {
	g.submitted.clear() // of transactions that began before
	if there {
		g.used.Store(true)
		g.state.Store(dispatchOn)
		return
	}
	g.state.Store(dispatchOff)
}

// setReason notes why the engine goes on without the dispatcher.
func (g *dispatchState) setReason(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reason = err
}

// DispatchState says how steps reach workers.
type DispatchState struct {
	// Configured is false where the store is the queue, and nothing else was asked for.
	Configured bool
	// Active is true while steps are claimed from the dispatcher.
	Active bool
	// Why it is not; nil when it is.
	Why error
}

// Dispatch says how steps reach workers just now.
func (e *Engine) Dispatch() DispatchState {
	g := e.dispatch
	if g == nil {
		return DispatchState{}
	}
	s := DispatchState{Configured: true, Active: g.on()}
	if !s.Active {
		g.mu.Lock()
		s.Why = g.reason
		g.mu.Unlock()
	}
	return s
}

// fromDispatcher asks the dispatcher while that is the queue. ok is false where it is
// not, or has just failed: the store knows then. An error is that of a caller who has
// gone.
func fromDispatcher[T any](ctx context.Context, e *Engine, ask func(Dispatcher) (T, error)) (answer T, ok bool, err error) {
	if !e.dispatch.on() {
		return answer, false, nil
	}
	got, err := ask(e.dispatch.d)
	if err != nil {
		return answer, false, e.fallBack(ctx, err)
	}
	return got, true, nil
}

// findHolds returns who holds steps, as far as the dispatcher knows; nil if it cannot be
// asked.
func (e *Engine) findHolds(ctx context.Context, ids []task.ID) []Hold {
	holds, _, _ := fromDispatcher(ctx, e, func(d Dispatcher) ([]Hold, error) { return d.Find(ctx, ids) })
	return holds
}

// fallBack is what becomes of an error of the dispatcher: nothing but that the
// engine goes on without it. Who has gone meanwhile gets the error, and the dispatcher
// is not blamed for it.
func (e *Engine) fallBack(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	e.dispatchFailed(err)
	return nil
}

// dispatchFailed goes on without the dispatcher.
func (e *Engine) dispatchFailed(err error) {
	e.dispatch.failed(err)
	if e.dispatch.mustPersist() {
		e.dispatch.persists.Post(struct{}{})
	}
}

// persistLeases stores the leases that this process remembers, so that the store can be
// the queue without handing out a second time what somebody works on.
func (e *Engine) persistLeases(ctx context.Context) error {
	g := e.dispatch
	if !g.mustPersist() {
		return nil
	}
	holds := g.remembered(e.instant())
	if e.coordinator != nil {
		var err error
		if holds, err = e.addLeasesOfOthers(ctx, holds); err != nil {
			return err
		}
	}
	for len(holds) > 0 {
		some := holds[:min(len(holds), e.cfg.Limits.BatchItems)]
		holds = holds[len(some):]
		if err := e.storeHolds(ctx, some); err != nil {
			return fmt.Errorf("store the leases that were granted by the dispatcher: %w", err)
		}
	}
	if e.coordinator != nil {
		g.state.CompareAndSwap(dispatchPersisting, dispatchSuspended)
		return nil
	}
	if g.state.CompareAndSwap(dispatchPersisting, dispatchOff) {
		e.waiters.wakeAll()
	}
	return nil
}

// maxPersisted bounds how many leases of other processes one stores.
const maxPersisted = 100_000

// addLeasesOfOthers adds the leases that only the dispatcher remembers: those that a process
// granted which has gone since. Where it is out of reach, there are none to be had.
func (e *Engine) addLeasesOfOthers(ctx context.Context, holds []Hold) ([]Hold, error) {
	g := e.dispatch
	if !g.reachable.Load() {
		return holds, nil
	}
	there, err := g.d.Expired(ctx, task.Instant(math.MaxInt64), maxPersisted)
	if err != nil {
		return holds, e.fallBack(ctx, err)
	}
	known := make(map[task.ID]int64, len(holds))
	for _, h := range holds {
		known[h.Step] = h.Token
	}
	for _, h := range there {
		if known[h.Step] != h.Token {
			holds = append(holds, h)
		}
	}
	return holds, nil
}

// storeHolds writes leases into the rows of their steps. Another process may have
// renewed them, or stored what it knows of them: each is as good as new, and what is
// known best holds.
func (e *Engine) storeHolds(ctx context.Context, holds []Hold) error {
	ids := make([]task.ID, len(holds))
	of := make(map[task.ID]Hold, len(holds))
	now := e.instant()
	for i, h := range holds {
		length := e.cfg.Leases.Lease()
		if h.StartedAt == 0 {
			length = e.cfg.Leases.StartTimeout
		}
		h.Until = max(h.Until, now.Add(length))
		ids[i], of[h.Step] = h.Step, h
	}
	return e.write(ctx, "stow", func(u *unit) error {
		u.leases.holds = of
		works, err := u.rows.load(ids)
		if err != nil {
			return err
		}
		for _, w := range works {
			if w.Step == nil {
				continue
			}
			h := of[w.Step.ID]
			if _, adopted := u.leases.applied[w.Step]; adopted && w.Step.HeldUnder(h.Token) || w.Step.Learn(h.lease()) {
				u.rows.changedStep(w.Step)
			}
		}
		return nil
	})
}
