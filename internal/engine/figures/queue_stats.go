package figures

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/engine/submit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// QueueStats is the state of the queue at one time.
type QueueStats struct {
	At     task.Instant
	Levels []LevelStats // levels with steps and named levels; highest first
	Depth  int
	// Ages of the ready steps; 0 when none is ready.
	Oldest, P50, P95 time.Duration
	// Sampled: all but depth and workers is extrapolated. Capped: there is more than was counted.
	Sampled, Capped bool
	// Overdue counts ready steps that have waited for Patience, and are promoted or go first; 0: neither happens.
	Overdue  int
	Patience time.Duration

	Loads    map[int64]int  // by worker
	Workers  []*task.Worker // alive, or died in the last hour
	Measured kernel.Measured
	Pressure submit.Pressure
	Dispatch kernel.DispatchState
}

// LevelStats are the counts of one priority level.
type LevelStats struct {
	Level               int
	Ready               int
	Assigned, Executing int
	Oldest              time.Duration // of the longest wait; 0 without ready steps
}

// Bounds of a queue sample. It counts up to statsLimit steps and reads a sample of them.
const (
	statsLimit  = 1_000_000
	statsSample = 10_000
	statsLeases = 10_000
)

// Fields above mu are immutable, so readers share a sample without a lock.
type queueSample struct {
	at     task.Instant
	counts map[int64]int
	capped bool
	sample []kernel.ReadyStep
	stride int
	leased []kernel.LeasedCount
	routes []*task.Route

	mu      sync.Mutex
	counted map[string]*feed.QueueCount // see countOf
	stats   []RouteStats                // see byRoute; nil: not computed yet
}

// queueSamples keeps the last sample, so that readers cost the store little.
type queueSamples struct {
	turn  chan struct{} // token; its holder owns until
	last  atomic.Pointer[queueSample]
	until task.Instant
}

// A million steps take over a second: meanwhile readers get the last sample, up to this age.
const queueSampleKept = time.Minute

// queueSample returns a sample no older than a second, or twenty times its cost. During the next one callers get the
// last, or wait if it is older than queueSampleKept. Errors are not kept.
func (e *Room) queueSample(ctx context.Context) (*queueSample, error) {
	k := &e.queueSamples
	select {
	case k.turn <- struct{}{}:
	default:
		if last := k.last.Load(); last != nil {
			if age := e.Now().Sub(last.at); age >= 0 && age < queueSampleKept {
				return last, nil
			}
		}
		select {
		case k.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-k.turn }()
	began := e.Now()
	if last := k.last.Load(); last != nil && began < k.until && began >= last.at {
		return last, nil
	}
	g, err := e.takeSample(ctx, began)
	if err != nil {
		return nil, err
	}
	now := e.Now()
	k.last.Store(g)
	k.until = now.Add(max(submit.Recount, submit.RecountShare*now.Sub(began)))
	return g, nil
}

// takeSample reads about statsSample steps. Counts and sample may differ by changes in between.
func (e *Room) takeSample(ctx context.Context, now task.Instant) (*queueSample, error) {
	g := &queueSample{at: now}
	var err error
	if g.counts, err = e.Queue.ReadyCounts(ctx, statsLimit); err != nil {
		return nil, err
	}
	total := 0
	for _, n := range g.counts {
		total += n
	}
	g.capped = total >= statsLimit
	g.stride = (total + statsSample - 1) / statsSample
	if g.stride = max(g.stride, 1); total > 0 {
		if g.sample, err = e.QueueCounts.ReadySample(ctx, g.stride, statsLimit); err != nil {
			return nil, err
		}
	}
	if g.leased, err = e.QueueCounts.LeasedCounts(ctx, statsLeases); err != nil {
		return nil, err
	}
	if g.routes, err = e.Store.Routes(ctx); err != nil { // last, so that the sample has no unknown route
		return nil, err
	}
	return g, e.correctSample(ctx, g)
}

// correctSample subtracts steps that the dispatcher has handed out: the store shows them as ready.
func (e *Room) correctSample(ctx context.Context, g *queueSample) error {
	holds, err := e.Queue.Holds(ctx, statsLeases)
	if err != nil || len(holds) == 0 {
		return err
	}
	held := make(map[task.ID]struct{}, len(holds))
	for _, h := range holds {
		held[h.Step] = struct{}{}
		state := task.StepAssigned
		if h.StartedAt != 0 {
			state = task.StepInProgress
		}
		g.leased = append(g.leased, kernel.LeasedCount{Route: h.Route, Priority: h.Priority, State: state, Steps: 1})
	}
	g.sample = slices.DeleteFunc(g.sample, func(s kernel.ReadyStep) bool {
		_, is := held[s.ID]
		return is
	})
	return nil
}

// QueueStats returns the state of the queue for some or all namespaces. Numbers of steps may be some seconds old.
func (e *Room) QueueStats(ctx context.Context, namespaces []string) (*QueueStats, error) {
	g, err := e.queueSample(ctx)
	if err != nil {
		return nil, err
	}
	pass := kernel.Passing(namespaces)
	out := &QueueStats{At: g.at, Sampled: g.stride > 1, Capped: g.capped, Patience: e.patience(),
		Pressure: submit.Of(e.Kernel).Pressure(),
		Dispatch: e.DispatchState()}
	total := 0
	for _, n := range g.counts {
		total += n
	}
	out.Pressure.Tier, _, _ = submit.Of(e.Kernel).Backpressure.Tier(total) // the last submission may be long ago
	e.describe(out, g, pass)
	out.Measured = e.Measured(e.Now(), pass)
	loads, err := e.Loads(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := e.Workers(ctx, deadWorkers)
	if err != nil {
		return nil, err
	}
	out.Loads = loads
	for _, w := range workers {
		if len(w.Namespaces) == 0 || slices.ContainsFunc(w.Namespaces, pass) {
			out.Workers = append(out.Workers, w)
		}
	}
	return out, nil
}

func (g *queueSample) routesOf(pass func(namespace string) bool) map[int64]bool {
	out := make(map[int64]bool, len(g.routes))
	for _, r := range g.routes {
		out[r.ID] = pass(r.Namespace)
	}
	return out
}

// patience is the wait after which a step of the lowest named level is promoted, or no later step overtakes it; 0:
// there is none.
func (e *Room) patience() time.Duration {
	order := e.Order()
	lowest := e.Cfg.Priorities[len(e.Cfg.Priorities)-1].Level
	if d := order.Threshold(lowest); d > 0 {
		return d
	}
	return order.MaxWait
}

// describe adds a sample's counts. Named levels appear even without steps.
func (e *Room) describe(out *QueueStats, g *queueSample, pass func(namespace string) bool) {
	routes := g.routesOf(pass)
	levels := map[int]*LevelStats{}
	of := func(level int) *LevelStats {
		s := levels[level]
		if s == nil {
			s = &LevelStats{Level: level}
			levels[level] = s
		}
		return s
	}
	for _, p := range e.Cfg.Priorities {
		of(p.Level)
	}
	for route, n := range g.counts {
		if routes[route] {
			out.Depth += n
		}
	}
	var ages []time.Duration
	for _, s := range g.sample {
		if !routes[s.Route] {
			continue
		}
		age := max(g.at.Sub(s.ReadyAt), 0)
		ages = append(ages, age)
		l := of(s.Priority)
		l.Ready++
		l.Oldest = max(l.Oldest, age)
		if out.Patience > 0 && age >= out.Patience {
			out.Overdue++
		}
	}
	for _, c := range g.leased {
		switch {
		case !routes[c.Route]:
		case c.State == task.StepAssigned:
			of(c.Priority).Assigned += c.Steps
		default:
			of(c.Priority).Executing += c.Steps
		}
	}
	scale(out, levels, len(ages))
	slices.Sort(ages)
	out.Oldest, out.P50, out.P95 = quantile(ages, 1), quantile(ages, 0.5), quantile(ages, 0.95)
	for _, s := range levels {
		out.Levels = append(out.Levels, *s)
	}
	slices.SortFunc(out.Levels, func(a, b LevelStats) int { return b.Level - a.Level })
}

func scale(out *QueueStats, levels map[int]*LevelStats, sampled int) {
	if sampled == 0 || sampled == out.Depth {
		return
	}
	whole := func(n int) int { return int(math.Round(float64(n) * float64(out.Depth) / float64(sampled))) }
	out.Overdue = whole(out.Overdue)
	for _, l := range levels {
		l.Ready = whole(l.Ready)
	}
}

// quantile requires sorted ages.
func quantile(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(part*float64(len(sorted))))-1, 0)]
}

// QueuePlace is the position of a ready step.
type QueuePlace struct {
	Ahead int
	Least bool // Ahead is a minimum
	// Wait is an estimate; negative when not known.
	Wait time.Duration
}

// QueuePlace returns the position of a ready step among those that its route's workers take, and its estimated wait
// at the cluster's measured rate.
func (e *Room) QueuePlace(ctx context.Context, s *task.Step) (QueuePlace, error) {
	shared, err := e.Pool(ctx, s.RouteID)
	if err != nil {
		return QueuePlace{}, err
	}
	n, least, err := e.AheadOf(ctx, shared, s)
	if err != nil {
		return QueuePlace{}, err
	}
	return e.queuePlace(shared, n, least), nil
}

// Without a measured rate, or with a minimum, the wait is not known.
func (e *Room) queuePlace(shared *kernel.Pool, ahead int, least bool) QueuePlace {
	p := QueuePlace{Ahead: ahead, Least: least, Wait: -1}
	if rate := e.Rate(shared); rate > 0 && !p.Least {
		p.Wait = time.Duration(float64(ahead+1) / rate * float64(time.Second))
	}
	return p
}

const placedRoutes = 32

// QueuePlaces is QueuePlace for the first steps of one call's tasks; nil for a step off its route, and beyond
// placedRoutes queues. Steps with the same key follow each other.
func (e *Room) QueuePlaces(ctx context.Context, steps []*task.Step) ([]*QueuePlace, error) {
	type spot struct{ route, key int64 }
	type count struct {
		n     int
		least bool
	}
	ahead, queries := map[spot]count{}, 0
	out := make([]*QueuePlace, len(steps))
	for i, s := range steps {
		if s == nil || !s.OnRoute() {
			continue
		}
		shared, err := e.Pool(ctx, s.RouteID)
		if err != nil {
			return nil, err
		}
		at := spot{s.RouteID, s.Key}
		// Steps of other routes with the same workers are in between, so each step is counted separately.
		c, known := ahead[at]
		mixed := len(shared.Routes) > 1 && i > 0 && steps[i-1] != nil && steps[i-1].RouteID != s.RouteID
		if !known || mixed {
			if queries++; queries > placedRoutes {
				continue
			}
			if c.n, c.least, err = e.AheadOf(ctx, shared, s); err != nil {
				return nil, err
			}
		}
		p := e.queuePlace(shared, c.n, c.least)
		out[i] = &p
		c.n = min(c.n+1, kernel.ManyAhead)
		ahead[at] = c
	}
	return out, nil
}
