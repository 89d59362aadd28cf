package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/kit/coalesce"
	"github.com/taskerhq/tasker/internal/model/task"
)

// dispatchQueue is the engine's view of its Dispatcher. With a dispatcher, ready steps are
// claimed, started and renewed there, and the store learns of an attempt only when it ends: the
// unit of work then adopts the lease. Whatever fails in the dispatcher, the engine continues
// with the store alone, and returns once the dispatcher is complete again. state is one of the
// constants below; it changes by compare-and-swap only, so that a failure noticed by many
// callers at once is handled once. mu guards the fields below it.
type dispatchQueue struct {
	storeQueue
	d Dispatcher

	state     atomic.Int32
	reachable atomic.Bool // it answered the last request
	caughtUp  atomic.Bool // it has received everything that was done while it was out of reach
	used      atomic.Bool // this process has claimed from it before

	mu            sync.Mutex
	leases        map[task.ID]Hold // leases that this process granted or renewed
	room          int              // number of leases to keep until expired ones are removed
	reason        error            // why the engine continues without it
	missed        []Removal        // removals that it was not sent
	missedTooMany bool             // there were too many to remember

	submitted *submittedCache
	outbox    *outbox
	persists  *coalesce.Group[struct{}, struct{}]
}

// States of a dispatchQueue.
const (
	dispatchOff        = iota // the store is the queue
	dispatchPersisting        // leases that this process remembers must be stored first
	dispatchSuspended         // they are stored; other processes must store theirs. See coordinator
	dispatchOn
)

// errDispatchNew is the reason before the dispatcher has been filled for a process that has just started.
var errDispatchNew = errors.New("it has not been filled yet")

// newDispatchQueue returns the queue in front of d. It begins in the state off:
// MaintainDispatch checks or fills the dispatcher before anything is claimed from it.
func newDispatchQueue(e *Engine, d Dispatcher) *dispatchQueue {
	g := &dispatchQueue{storeQueue: storeQueue{e}, d: d, leases: map[task.ID]Hold{}, reason: errDispatchNew,
		submitted: newSubmittedCache()}
	g.outbox = g.newOutbox()
	g.persists = coalesce.New(callers, 1, func(calls []struct{}) ([]struct{}, error) {
		if e.coordinator != nil {
			return calls, e.coordinator.coordinate(context.Background())
		}
		return calls, g.persistLeases(context.Background()) // on an error, MaintainDispatch tries again
	})
	g.reachable.Store(true)
	if r, ok := e.store.(RowCacher); ok {
		r.CacheNewRows()
	}
	return g
}

// on reports whether steps are claimed from the dispatcher.
func (g *dispatchQueue) on() bool { return g != nil && g.state.Load() == dispatchOn }

// mustPersist reports whether no steps are claimed for a moment, until leases are stored.
func (g *dispatchQueue) mustPersist() bool { return g.state.Load() == dispatchPersisting }

// remember keeps leases until they end here, or are long over: this process does not learn when another renews or ends
// them.
func (g *dispatchQueue) remember(holds []Hold, now task.Instant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range holds {
		if h.Token > 0 {
			g.leases[h.Step] = h
		}
	}
	if len(g.leases) <= g.room {
		return
	}
	maps.DeleteFunc(g.leases, func(_ task.ID, h Hold) bool { return h.Until.Add(forgottenAfter) < now })
	g.room = max(2*len(g.leases), minRemembered)
}

const (
	// forgottenAfter is the time after its end at which a lease counts as handled by another process.
	forgottenAfter = time.Minute
	// minRemembered is the number of leases kept without checking whether they are over.
	minRemembered = 1000
)

// dropEnded drops leases that have ended.
func (g *dispatchQueue) dropEnded(steps []Removal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range steps {
		if h, ok := g.leases[s.Step]; ok && s.ends(h) {
			delete(g.leases, s.Step)
		}
	}
}

// leaseOf returns a lease that this process remembers. It may be out of date: another process
// may have renewed or ended it.
func (g *dispatchQueue) leaseOf(id task.ID) (Hold, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h, ok := g.leases[id]
	return h, ok
}

// remembered returns all leases that are not long over.
func (g *dispatchQueue) remembered(now task.Instant) []Hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	holds := make([]Hold, 0, len(g.leases))
	for id, h := range g.leases {
		if h.Until.Add(time.Hour) < now {
			delete(g.leases, id) // another process has handled it
			continue
		}
		holds = append(holds, h)
	}
	return holds
}

// maxMissed bounds the remembered removals that the dispatcher was not sent. Beyond it the dispatcher is filled anew.
const maxMissed = 100_000

// addMissed remembers removals that the dispatcher was not sent: without them it would hand the steps out again.
func (g *dispatchQueue) addMissed(gone []Removal) {
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

// catchUp sends the dispatcher the removals that it missed. It returns false when it has missed too many.
func (g *dispatchQueue) catchUp(ctx context.Context) (bool, error) {
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

// startOver forgets the missed removals: the dispatcher is filled from the store.
func (g *dispatchQueue) startOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missed, g.missedTooMany = nil, false
}

// failed records that the dispatcher did not carry out a request: the engine continues without it.
func (g *dispatchQueue) failed(err error) {
	g.reachable.Store(errors.Is(err, ErrDispatchLost))
	g.mu.Lock()
	g.reason = err
	g.mu.Unlock()
	g.caughtUp.Store(false)
	g.suspendFrom(dispatchOn, dispatchPersisting)
}

// suspendFrom leaves a state for another, if it is the present one, and shuts the gate first
// among processes.
func (g *dispatchQueue) suspendFrom(state, to int32) {
	if g.state.CompareAndSwap(state, to) && g.e.coordinator != nil {
		g.e.coordinator.gate.shut()
	}
	g.submitted.clear() // others may claim the steps in it before this process returns
}

// suspend stops claiming from either place. See coordinator.
func (g *dispatchQueue) suspend() {
	g.suspendFrom(dispatchOn, dispatchPersisting)
	g.suspendFrom(dispatchOff, dispatchSuspended)
}

// resume claims from the dispatcher, or from the store, from now on. See coordinator.
func (g *dispatchQueue) resume(there bool) {
	g.submitted.clear() // of transactions that began before
	if there {
		g.used.Store(true)
		g.state.Store(dispatchOn)
		return
	}
	g.state.Store(dispatchOff)
}

// setReason records why the engine continues without the dispatcher.
func (g *dispatchQueue) setReason(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reason = err
}

// DispatchState describes how steps reach workers.
type DispatchState struct {
	// Configured is false where the store is the queue, and no dispatcher is configured.
	Configured bool
	// Active is true while steps are claimed from the dispatcher.
	Active bool
	// Why is the reason when it is not active, else nil.
	Why error
}

// DispatchState returns how steps reach workers at this moment.
func (e *Engine) DispatchState() DispatchState {
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

// ask sends a query to the dispatcher while it is the queue. ok is false when it is not, or has just failed: then the
// store has the answer. An error means that the caller's ctx has ended.
func ask[T any](ctx context.Context, g *dispatchQueue,
	question func(Dispatcher) (T, error),
) (answer T, ok bool, err error) {
	if !g.on() {
		return answer, false, nil
	}
	got, err := question(g.d)
	if err != nil {
		return answer, false, g.fallBack(ctx, err)
	}
	return got, true, nil
}

// findHolds returns the holds on steps that the dispatcher knows; nil if it cannot be asked.
func (g *dispatchQueue) findHolds(ctx context.Context, ids []task.ID) []Hold {
	holds, _, _ := ask(ctx, g, func(d Dispatcher) ([]Hold, error) { return d.Find(ctx, ids) })
	return holds
}

// fallBack handles an error of the dispatcher: the engine continues without it, and no error is returned. A caller
// whose ctx has ended gets the error, and the dispatcher is not blamed for it.
func (g *dispatchQueue) fallBack(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	g.failOver(err)
	return nil
}

// failOver continues without the dispatcher.
func (g *dispatchQueue) failOver(err error) {
	g.failed(err)
	if g.mustPersist() {
		g.persists.Post(struct{}{})
	}
}

// persistLeases stores the leases that this process remembers, so that the store can be the queue without handing out a
// step that a worker is processing. It may be repeated after an error: a lease that is stored already is only extended.
func (g *dispatchQueue) persistLeases(ctx context.Context) error {
	if !g.mustPersist() {
		return nil
	}
	holds := g.remembered(g.e.instant())
	if g.e.coordinator != nil {
		var err error
		if holds, err = g.addLeasesOfOthers(ctx, holds); err != nil {
			return err
		}
	}
	if err := g.storeAll(ctx, holds); err != nil {
		return fmt.Errorf("store the leases that were granted by the dispatcher: %w", err)
	}
	if g.e.coordinator != nil {
		g.state.CompareAndSwap(dispatchPersisting, dispatchSuspended)
		return nil
	}
	if g.state.CompareAndSwap(dispatchPersisting, dispatchOff) {
		g.e.waiters.wakeAll()
	}
	return nil
}

// storeAll stores leases, those that cannot be stored by themselves. It steps over one that is over: nobody processes
// its step. While one is in force, the store must not hand out, so it is an error.
func (g *dispatchQueue) storeAll(ctx context.Context, holds []Hold) error {
	now, rows := g.e.instant(), g.e.due.kept
	rows.Tidy(now)
	fresh := slices.DeleteFunc(slices.Clone(holds), func(h Hold) bool { return rows.Rests(h.Step, now) })
	stored := make(map[task.ID]bool, len(holds))
	for some := range slices.Chunk(fresh, g.e.cfg.Limits.BatchItems) {
		err := rows.Try(ctx, now, some, func(ctx context.Context, some []Hold) error {
			err := g.storeHolds(ctx, some)
			for _, h := range some {
				stored[h.Step] = err == nil
			}
			return err
		})
		if stepped := (*due.Error)(nil); errors.As(err, &stepped) {
			err = g.e.StepOver(ctx, "dispatch", stepped)
		}
		if err != nil {
			return err
		}
	}
	for _, h := range holds {
		if h.Until > now && !stored[h.Step] {
			return fmt.Errorf("the lease of step %s cannot be stored, and is in force", h.Step)
		}
	}
	return nil
}

// maxPersisted bounds the leases of other processes that one process stores.
const maxPersisted = 100_000

// addLeasesOfOthers adds the leases that only the dispatcher remembers: their processes have ended. Where the
// dispatcher is out of reach, it adds none.
func (g *dispatchQueue) addLeasesOfOthers(ctx context.Context, holds []Hold) ([]Hold, error) {
	if !g.reachable.Load() {
		return holds, nil
	}
	there, err := g.d.Expired(ctx, task.Instant(math.MaxInt64), maxPersisted)
	if err != nil {
		return holds, g.fallBack(ctx, err)
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

// storeHolds writes leases into the rows of their steps. Another process may have renewed them, or stored its own
// version of them: each counts as freshly renewed, and the most advanced version is kept.
func (g *dispatchQueue) storeHolds(ctx context.Context, holds []Hold) error {
	ids := make([]task.ID, len(holds))
	of := make(map[task.ID]Hold, len(holds))
	now := g.e.instant()
	for i, h := range holds {
		length := g.e.cfg.Leases.Lease()
		if h.StartedAt == 0 {
			length = g.e.cfg.Leases.StartTimeout
		}
		h.Until = max(h.Until, now.Add(length))
		ids[i], of[h.Step] = h.Step, h
	}
	return g.e.write(ctx, "store_leases", func(u *unit) error {
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
