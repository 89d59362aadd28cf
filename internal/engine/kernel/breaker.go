package kernel

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A worker whose last attempts all failed gets no steps for a period, and then a few as a test (half-open). Its row
// stores when the breaker opened, for all processes and restarts. Each process counts in memory consecutive failures
// of attempts that it ended, and the attempts of a half-open period.

type breakerOutcomes struct {
	u *Unit

	outcomes []breakerOutcome
	changed  []*task.Worker // their breakers opened or closed
	version  int64          // of the workers' rows; see workerCache
}

var breakerSlot = NewSlot(func(u *Unit) *breakerOutcomes { return &breakerOutcomes{u: u} })

func BreakersFeature() Feature {
	return Feature{
		Name: "breakers",
		ended: func(u *Unit, w Work, e ending) (bool, error) {
			if e.outcome == task.Completed {
				noteSuccess(u, w.Step)
			} else {
				noteFailure(u, w.Step.RouteID, e)
			}
			return false, nil
		},
		Stages: []Stage{{rankBreakers, "breakers", []string{"workers"}, breakerSlot.Save((*breakerOutcomes).save)}},
		After:  []FollowUp{{afterBreakers, "breakers", breakerSlot.After((*breakerOutcomes).publish)}},
	}
}

// breakers has no entry for a worker that does not fail. mu guards the maps; failing is read without it, so that a
// healthy cluster pays one atomic load per settled step.
type breakers struct {
	cfg settings.WorkerBreaker
	// apart is how long after a failure a lost lease still adds to it; see lostApart.
	apart time.Duration

	failing atomic.Int64

	mu      sync.Mutex
	workers map[int64]*breaker
	routes  map[int64]*routeFailure // with CountAny only
}

type breaker struct {
	failures int // in a row; once open, those of a half-open period
	failedAt task.Instant
	lostAt   task.Instant // the last lost lease; kept while the breaker is open
	brokenAt task.Instant // as in the worker's row
	period   int64
	taken    int // attempts handed out in the period, or reserved
}

// routeFailure is a route on which an attempt failed for good, with no success since.
type routeFailure struct {
	worker int64 // the first that failed
	shared bool
}

// maxFailing bounds the entries; beyond it, counting restarts from zero.
const maxFailing = 50_000

// lostApart bounds, in leases, the time within which lost leases add up. Any process notices a lost lease, but sees
// successes only of workers that report to it: without a bound, a good worker's few losses in a month would add up.
const lostApart = 3

func newBreakers(cfg settings.WorkerBreaker, lease time.Duration) *breakers {
	return &breakers{cfg: cfg, apart: lostApart * lease, workers: map[int64]*breaker{}, routes: map[int64]*routeFailure{}}
}

func (b *breakers) on() bool { return b.cfg.Failures > 0 }

// The caller holds mu.
func (b *breakers) updateFailing() { b.failing.Store(int64(len(b.workers) + len(b.routes))) }

// note adopts a worker's row read at the time read.
func (b *breakers) note(w *task.Worker, read task.Instant) {
	if !b.on() || w.BrokenAt == 0 && b.failing.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	have := b.workers[w.No]
	switch {
	case w.BrokenAt == 0 && have == nil:
	case w.BrokenAt == 0 && have.brokenAt != 0 && have.brokenAt < read: // another process has closed it
		delete(b.workers, w.No)
	case w.BrokenAt != 0 && (have == nil || have.brokenAt < w.BrokenAt):
		b.put(w.No, breaker{brokenAt: w.BrokenAt})
	}
	b.updateFailing()
}

// The caller holds mu.
func (b *breakers) put(worker int64, entry breaker) {
	MakeRoom(b.workers, maxFailing)
	b.workers[worker] = &entry
}

func (b *breakers) reserve(worker, period int64, want int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	have := b.workers[worker]
	if have == nil {
		return want // it was just closed
	}
	if have.period != period {
		have.period, have.taken = period, 0
	}
	n := max(min(want, b.cfg.HalfOpen-have.taken), 0)
	have.taken += n
	return n
}

func (b *breakers) giveBack(worker, period int64, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if have := b.workers[worker]; have != nil && have.period == period {
		have.taken = max(have.taken-n, 0)
	}
}

type breakerOutcome struct {
	worker, route int64
	good          bool
	final         bool // may be the step's fault; see isRouteFault
	lost          bool
	since         task.Instant // when a lost lease was granted
}

type breakerChange struct {
	worker   int64
	brokenAt task.Instant // 0: close it
}

// evaluate returns the breakers that open or close, and with apply stores the new counts. It runs before the commit
// to know the changed rows, and after it to count, so a rollback leaves no trace.
func (b *breakers) evaluate(ends []breakerOutcome, now task.Instant, apply bool) []breakerChange {
	b.mu.Lock()
	defer b.mu.Unlock()
	workers, routes := map[int64]breaker{}, map[int64]*routeFailure{}
	changes := map[int64]task.Instant{}
	for _, v := range ends {
		if b.isRouteFault(v, routes) {
			continue
		}
		of, ok := workers[v.worker]
		if have := b.workers[v.worker]; !ok && have != nil {
			of = *have
		}
		if v.lost && v.since <= of.lostAt {
			continue // granted before the last loss: one cause, whichever transactions end them
		}
		if v.lost && now.Sub(of.failedAt) > b.apart {
			of.failures = 0
		}
		if v.lost {
			of.lostAt = now
		}
		next := of.after(v.good, b.cfg, now)
		if next.brokenAt != of.brokenAt {
			changes[v.worker] = next.brokenAt
		}
		workers[v.worker] = next
	}
	if apply {
		b.apply(workers, routes)
	}
	list := make([]breakerChange, 0, len(changes))
	for no, at := range changes {
		list = append(list, breakerChange{no, at})
	}
	slices.SortFunc(list, func(x, y breakerChange) int { return cmp.Compare(x.worker, y.worker) })
	return list
}

// after closes the breaker at a success in any state, and opens a half-open one again at cfg.HalfOpen failures.
func (of breaker) after(good bool, cfg settings.WorkerBreaker, now task.Instant) breaker {
	w := task.Worker{BrokenAt: of.brokenAt}
	state, _, _ := w.Breaker(now, cfg.OpenFor)
	switch {
	case good:
		return breaker{}
	case state == task.BreakerOpen: // handed out before it opened
		return of
	}
	of.failures, of.failedAt = of.failures+1, now
	if state == task.BreakerClosed && of.failures >= cfg.Failures ||
		state == task.BreakerHalfOpen && of.failures >= cfg.HalfOpen {
		return breaker{brokenAt: now, lostAt: of.lostAt}
	}
	return of
}

// isRouteFault reports whether a failure is the route's fault: attempts of two workers failed there for good with no
// success between them. No worker is blamed until the next success.
func (b *breakers) isRouteFault(v breakerOutcome, routes map[int64]*routeFailure) bool {
	if b.cfg.Count != settings.CountAny || !v.good && !v.final {
		return false
	}
	have, ok := routes[v.route]
	if !ok {
		have = b.routes[v.route]
	}
	switch {
	case v.good:
		routes[v.route] = nil
		return false
	case have == nil:
		have = &routeFailure{worker: v.worker}
	case have.worker != v.worker && !have.shared:
		have = &routeFailure{worker: have.worker, shared: true}
	}
	routes[v.route] = have
	return have.shared
}

// The caller holds mu.
func (b *breakers) apply(workers map[int64]breaker, routes map[int64]*routeFailure) {
	for no, of := range workers {
		if of == (breaker{}) {
			delete(b.workers, no)
		} else {
			b.put(no, of)
		}
	}
	MakeRoom(b.routes, maxFailing)
	maps.Copy(b.routes, routes)
	maps.DeleteFunc(b.routes, func(_ int64, t *routeFailure) bool { return t == nil })
	b.updateFailing()
}

func noteSuccess(u *Unit, s *task.Step) {
	if b := u.E.breakers; b.on() && b.failing.Load() > 0 && s.WorkerNo != 0 {
		bo := breakerSlot.Of(u)
		bo.outcomes = append(bo.outcomes, breakerOutcome{worker: s.WorkerNo, route: s.RouteID, good: true})
	}
}

func noteFailure(u *Unit, route int64, e ending) {
	b := u.E.breakers
	if !b.on() || e.worker == 0 {
		return
	}
	bo := breakerSlot.Of(u)
	fault := task.WorkersFault(e.outcome, e.failure)
	if fault || b.cfg.Count == settings.CountAny && e.outcome == task.Failed {
		bo.outcomes = append(bo.outcomes, breakerOutcome{worker: e.worker, route: route, lost: e.outcome.Lost(),
			since: e.since, final: !fault && e.failure != nil && !e.failure.Retryable})
	}
}

func (bo *breakerOutcomes) save() error {
	if len(bo.outcomes) == 0 {
		return nil
	}
	changes := bo.u.E.breakers.evaluate(bo.outcomes, bo.u.Now, false)
	if len(changes) == 0 {
		return nil
	}
	nos, to := make([]int64, len(changes)), make(map[int64]task.Instant, len(changes))
	for i, t := range changes {
		nos[i], to[t.worker] = t.worker, t.brokenAt
	}
	workers, err := bo.u.Tx.Workers(bo.u.Ctx, nos) // without removed ones
	if err != nil {
		return err
	}
	for _, w := range workers {
		brokenAt := to[w.No]
		if w.BrokenAt == 0 && brokenAt == 0 {
			continue // another process was first
		}
		w.BrokenAt = brokenAt
		if err := bo.u.Tx.SaveWorker(bo.u.Ctx, w); err != nil {
			return err
		}
		bo.changed, bo.version = append(bo.changed, w), bo.u.E.workers.nextVersion()
		bo.u.Observed.breaker(w)
	}
	return nil
}

// BreakerOf returns the state of a worker's circuit breaker.
func (e *Kernel) BreakerOf(w *task.Worker) task.BreakerState {
	state, _ := e.BreakerUntil(w)
	return state
}

// BreakerUntil also returns when the state ends by itself; 0: never.
func (e *Kernel) BreakerUntil(w *task.Worker) (state task.BreakerState, until task.Instant) {
	if !e.breakers.on() {
		return task.BreakerClosed, 0
	}
	state, until, _ = w.Breaker(e.Now(), e.Cfg.WorkerBreaker.OpenFor)
	return state, until
}

func (bo *breakerOutcomes) publish() {
	e := bo.u.E
	if len(bo.outcomes) == 0 {
		return
	}
	e.breakers.evaluate(bo.outcomes, bo.u.Now, true)
	if len(bo.changed) == 0 {
		return
	}
	var news PeerEvents
	for _, w := range bo.changed {
		e.changed(w, bo.u.Now, bo.version)
		news.Workers = append(news.Workers, w.No)
	}
	e.Publish(news)
}
