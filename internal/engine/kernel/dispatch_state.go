package kernel

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

// dispatchQueue claims, starts and renews steps in its Dispatcher. The store learns of an attempt when it ends: the
// unit of work then adopts the lease. When the dispatcher fails, the engine continues with the store until it is
// complete again. state changes by compare-and-swap, so that a failure noticed by many callers is handled once. mu
// guards the fields below it.
type dispatchQueue struct {
	storeQueue
	d Dispatcher

	state     atomic.Int32
	reachable atomic.Bool // it answered the last request
	caughtUp  atomic.Bool // it has everything that it missed while out of reach
	used      atomic.Bool // this process has claimed from it

	mu            sync.Mutex
	leases        map[task.ID]Hold // that this process granted or renewed
	room          int              // leases to keep until expired ones are removed
	reason        error            // why the engine continues without it
	missed        []Removal        // removals that it was not sent
	missedTooMany bool

	submitted *submittedCache
	outbox    *outbox
	persists  *coalesce.Group[struct{}, struct{}]
}

const (
	dispatchOff        = iota // the store is the queue
	dispatchPersisting        // remembered leases must be stored first
	dispatchSuspended         // they are stored; other processes must store theirs; see coordinator
	dispatchOn
)

// errDispatchNew is the reason until the dispatcher has been checked or filled.
var errDispatchNew = errors.New("it has not been filled yet")

func newDispatchQueue(e *Kernel, d Dispatcher) *dispatchQueue {
	g := &dispatchQueue{storeQueue: storeQueue{e}, d: d, leases: map[task.ID]Hold{}, reason: errDispatchNew,
		submitted: newSubmittedCache()}
	g.outbox = g.newOutbox()
	g.persists = coalesce.New(Callers, 1, func(calls []struct{}) ([]struct{}, error) {
		if e.coordinator != nil {
			return calls, e.coordinator.coordinate(context.Background())
		}
		return calls, g.persistLeases(context.Background()) // on an error, MaintainDispatch tries again
	})
	g.reachable.Store(true)
	if r, ok := e.Store.(RowCacher); ok {
		r.CacheNewRows()
	}
	return g
}

func (g *dispatchQueue) on() bool { return g != nil && g.state.Load() == dispatchOn }

func (g *dispatchQueue) mustPersist() bool { return g.state.Load() == dispatchPersisting }

// remember keeps leases until they end here, or are long over: other processes end them without notice.
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
	// forgottenAfter its end, a lease must have been handled by another process.
	forgottenAfter = time.Minute
	// minRemembered is the number of leases kept without checking whether they are over.
	minRemembered = 1000
)

func (g *dispatchQueue) dropEnded(steps []Removal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range steps {
		if h, ok := g.leases[s.Step]; ok && s.ends(h) {
			delete(g.leases, s.Step)
		}
	}
}

// leaseOf may be out of date: another process may renew or end the lease.
func (g *dispatchQueue) leaseOf(id task.ID) (Hold, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h, ok := g.leases[id]
	return h, ok
}

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

// maxMissed bounds the missed removals; beyond it the dispatcher is filled anew.
const maxMissed = 100_000

// addMissed remembers removals without which the dispatcher would hand the steps out again.
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

// catchUp sends the missed removals. It returns false when there were too many.
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

func (g *dispatchQueue) startOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missed, g.missedTooMany = nil, false
}

func (g *dispatchQueue) failed(err error) {
	g.reachable.Store(errors.Is(err, ErrDispatchLost))
	g.mu.Lock()
	g.reason = err
	g.mu.Unlock()
	g.caughtUp.Store(false)
	g.suspendFrom(dispatchOn, dispatchPersisting)
}

func (g *dispatchQueue) suspendFrom(state, to int32) {
	if g.state.CompareAndSwap(state, to) && g.e.coordinator != nil {
		g.e.coordinator.gate.shut()
	}
	g.submitted.clear() // others may claim the steps in it before this process returns
}

func (g *dispatchQueue) suspend() {
	g.suspendFrom(dispatchOn, dispatchPersisting)
	g.suspendFrom(dispatchOff, dispatchSuspended)
}

func (g *dispatchQueue) resume(there bool) {
	g.submitted.clear() // of earlier transactions
	if there {
		g.used.Store(true)
		g.state.Store(dispatchOn)
		return
	}
	g.state.Store(dispatchOff)
}

func (g *dispatchQueue) setReason(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reason = err
}

// DispatchState describes how steps reach workers.
type DispatchState struct {
	// Configured is false if the store is the queue, without a dispatcher.
	Configured bool
	// Active: steps are claimed from the dispatcher.
	Active bool
	// Why is the reason when it is not active.
	Why error
}

// DispatchState returns how steps reach workers now.
func (e *Kernel) DispatchState() DispatchState {
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

// ask queries the dispatcher. ok is false if it is not in use or fails: the store has the answer. An error means that
// ctx has ended.
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

func (g *dispatchQueue) findHolds(ctx context.Context, ids []task.ID) []Hold {
	holds, _, _ := ask(ctx, g, func(d Dispatcher) ([]Hold, error) { return d.Find(ctx, ids) })
	return holds
}

// fallBack returns an error only if ctx has ended.
func (g *dispatchQueue) fallBack(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	g.failOver(err)
	return nil
}

func (g *dispatchQueue) failOver(err error) {
	g.failed(err)
	if g.mustPersist() {
		g.persists.Post(struct{}{})
	}
}

// persistLeases stores the remembered leases, so that the store does not hand out their steps. A repetition only
// extends stored ones.
func (g *dispatchQueue) persistLeases(ctx context.Context) error {
	if !g.mustPersist() {
		return nil
	}
	holds := g.remembered(g.e.Now())
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

// storeAll skips leases that are over. One in force that cannot be stored is an error: the store must not hand out.
func (g *dispatchQueue) storeAll(ctx context.Context, holds []Hold) error {
	now, rows := g.e.Now(), g.e.due.kept
	rows.Tidy(now)
	fresh := slices.DeleteFunc(slices.Clone(holds), func(h Hold) bool { return rows.Rests(h.Step, now) })
	stored := make(map[task.ID]bool, len(holds))
	for some := range slices.Chunk(fresh, g.e.Cfg.Limits.BatchItems) {
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

const maxPersisted = 100_000

// addLeasesOfOthers adds the leases of ended processes, if the dispatcher is reachable.
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

// storeHolds counts each lease as just renewed, and keeps the most advanced version, because another process may have
// renewed or stored it.
func (g *dispatchQueue) storeHolds(ctx context.Context, holds []Hold) error {
	ids := make([]task.ID, len(holds))
	of := make(map[task.ID]Hold, len(holds))
	now := g.e.Now()
	for i, h := range holds {
		length := g.e.Cfg.Leases.Lease()
		if h.StartedAt == 0 {
			length = g.e.Cfg.Leases.StartTimeout
		}
		h.Until = max(h.Until, now.Add(length))
		ids[i], of[h.Step] = h.Step, h
	}
	return g.e.Write(ctx, "store_leases", func(u *Unit) error {
		u.leases.holds = of
		works, err := u.Rows.Load(ids)
		if err != nil {
			return err
		}
		for _, w := range works {
			if w.Step == nil {
				continue
			}
			h := of[w.Step.ID]
			if _, adopted := u.leases.applied[w.Step]; adopted && w.Step.HeldUnder(h.Token) || w.Step.Learn(h.lease()) {
				u.Rows.ChangedStep(w.Step)
			}
		}
		return nil
	})
}
