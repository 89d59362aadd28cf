package engine

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/feed"
	"github.com/taskerhq/tasker/internal/task"
)

// QueueStats is what is known of the queue at one time.
type QueueStats struct {
	At     task.Instant
	Levels []LevelStats // of steps that are there, and of all named levels; highest first
	Depth  int          // ready steps
	// Ages of the ready steps: the longest, and percentiles. 0 without any.
	Oldest, P50, P95 time.Duration
	// Sampled says that all but depth and workers is extrapolated from a sample,
	// Capped that there is more than was counted.
	Sampled, Capped bool
	// Overdue counts the ready steps that wait for longer than Patience, after which
	// they are promoted or go first; Patience is 0 where nothing of that kind happens.
	Overdue  int
	Patience time.Duration

	Loads    map[int64]int  // what workers hold, by their numbers
	Workers  []*task.Worker // those that are not dead, and the dead of the last hour
	Measured Measured
	Pressure Pressure
	Dispatch DispatchState
}

// LevelStats is what there is of one priority level.
type LevelStats struct {
	Level               int
	Ready               int
	Assigned, Executing int
	Oldest              time.Duration // age of the ready step that waits longest; 0 without any
}

// Bounds of a look at the queue. What it costs grows with the number of steps up to
// statsLimit; what it reads is a sample.
const (
	statsLimit  = 1_000_000
	statsSample = 10_000
	statsLeases = 10_000
)

// queueSample is a look at the queue as a whole, kept for a while.
type queueSample struct {
	at     task.Instant
	counts map[int64]int
	capped bool
	sample []ReadyStep
	stride int
	leased []LeasedCount
	routes []*task.Route

	mu      sync.Mutex
	counted map[string]*feed.QueueCount // by namespaces; see countOf
}

// queueSamples keeps the last sample, so that however many ask, the store is asked by a
// small part of the time.
type queueSamples struct {
	turn  chan struct{} // holds a token while somebody looks; what follows is his
	last  *queueSample
	until task.Instant
}

// queueSample returns a look at the queue that is not older than a second, or twenty
// times what it costs.
func (e *Engine) queueSample(ctx context.Context) (*queueSample, error) {
	k := &e.queueSamples
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	began := e.instant()
	if k.last != nil && began < k.until && began >= k.last.at {
		return k.last, nil
	}
	g, err := e.takeSample(ctx, began)
	if err != nil {
		return nil, err
	}
	now := e.instant()
	k.last, k.until = g, now.Add(max(recount, recountShare*now.Sub(began)))
	return g, nil
}

func (e *Engine) takeSample(ctx context.Context, now task.Instant) (*queueSample, error) {
	g := &queueSample{at: now}
	var err error
	if g.counts, err = e.queue.readyCounts(ctx, statsLimit); err != nil {
		return nil, err
	}
	total := 0
	for _, n := range g.counts {
		total += n
	}
	g.capped = total >= statsLimit
	g.stride = (total + statsSample - 1) / statsSample
	if g.stride = max(g.stride, 1); total > 0 {
		if g.sample, err = e.queueStore.ReadySample(ctx, g.stride, statsLimit); err != nil {
			return nil, err
		}
	}
	if g.leased, err = e.queueStore.LeasedCounts(ctx, statsLeases); err != nil {
		return nil, err
	}
	if g.routes, err = e.store.Routes(ctx); err != nil { // last, so that none is unknown
		return nil, err
	}
	return g, e.correctSample(ctx, g)
}

// correctSample corrects a sample by what the dispatcher knows: what it has handed out
// is still ready in the store.
func (e *Engine) correctSample(ctx context.Context, g *queueSample) error {
	holds, err := e.queue.holds(ctx, statsLeases)
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
		g.leased = append(g.leased, LeasedCount{Route: h.Route, Priority: h.Priority, State: state, Steps: 1})
	}
	g.sample = slices.DeleteFunc(g.sample, func(s ReadyStep) bool {
		_, is := held[s.ID]
		return is
	})
	return nil
}

// QueueStats returns what is known of the queue, of some namespaces or, with none
// named, of all. The numbers of steps may be some seconds old.
func (e *Engine) QueueStats(ctx context.Context, namespaces []string) (*QueueStats, error) {
	g, err := e.queueSample(ctx)
	if err != nil {
		return nil, err
	}
	pass := passing(namespaces)
	out := &QueueStats{At: g.at, Sampled: g.stride > 1, Capped: g.capped, Patience: e.patience(), Pressure: e.Pressure(),
		Dispatch: e.Dispatch()}
	total := 0
	for _, n := range g.counts {
		total += n
	}
	out.Pressure.Tier, _, _ = e.pressure.tier(total) // the last submission may be long ago
	e.describe(out, g, pass)
	out.Measured = e.measured(e.instant(), pass)
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

// passing is a filter of namespaces; none named is all.
func passing(namespaces []string) func(namespace string) bool {
	return func(namespace string) bool { return len(namespaces) == 0 || slices.Contains(namespaces, namespace) }
}

// routesOf returns the routes whose namespace passes.
func (g *queueSample) routesOf(pass func(namespace string) bool) map[int64]bool {
	out := make(map[int64]bool, len(g.routes))
	for _, r := range g.routes {
		out[r.ID] = pass(r.Namespace)
	}
	return out
}

// patience is the wait after which a step of the lowest named level is promoted or
// goes before whatever becomes ready later; 0: there is no such.
func (e *Engine) patience() time.Duration {
	order := e.Order()
	lowest := e.cfg.Priorities[len(e.cfg.Priorities)-1].Level
	if d := order.Threshold(lowest); d > 0 {
		return d
	}
	return order.MaxWait
}

// describe fills in what a sample shows of the routes of some namespaces.
func (e *Engine) describe(out *QueueStats, g *queueSample, pass func(namespace string) bool) {
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
	for _, p := range e.cfg.Priorities {
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

// scale turns the numbers of a sample into those of the whole, which is known.
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

// quantile returns the smallest of sorted ages that so large a part does not exceed.
func quantile(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(part*float64(len(sorted))))-1, 0)]
}

// QueuePlace is where a ready step stands.
type QueuePlace struct {
	Ahead int  // steps that go out before it
	Least bool // there are at least as many
	// Wait is how long it is likely to wait from now on; negative when that is not known.
	Wait time.Duration
}

// manyAhead is where counting what is ahead of a step stops.
const manyAhead = 10_000

// QueuePlace returns where a ready step stands among all that the workers of its route take,
// and how long it is likely to wait: as long as these workers take for what is ahead,
// at the rate at which they take steps while some wait, as measured in the cluster.
func (e *Engine) QueuePlace(ctx context.Context, s *task.Step) (QueuePlace, error) {
	shared, err := e.pool(ctx, s.RouteID)
	if err != nil {
		return QueuePlace{}, err
	}
	n, least, err := e.ahead(ctx, shared, s)
	if err != nil {
		return QueuePlace{}, err
	}
	return e.queuePlace(shared, n, least), nil
}

func (e *Engine) queuePlace(shared *pool, ahead int, least bool) QueuePlace {
	p := QueuePlace{Ahead: ahead, Least: least, Wait: -1}
	if rate := e.rate(shared); rate > 0 && !p.Least {
		p.Wait = time.Duration(float64(ahead+1) / rate * float64(time.Second))
	}
	return p
}

// placedRoutes bounds how many queues are counted for the receipts of one call.
const placedRoutes = 32

// QueuePlaces is Place for the first steps of the tasks of one call, which stand behind
// each other where they have the same key. The answers are in the order asked: nil for
// what is not ready, and for steps of more queues than are counted for one call.
func (e *Engine) QueuePlaces(ctx context.Context, steps []*task.Step) ([]*QueuePlace, error) {
	type spot struct{ route, key int64 }
	type count struct {
		n     int
		least bool
	}
	ahead, queries := map[spot]count{}, 0
	out := make([]*QueuePlace, len(steps))
	for i, s := range steps {
		if s == nil || s.State != task.StepEnqueued {
			continue
		}
		shared, err := e.pool(ctx, s.RouteID)
		if err != nil {
			return nil, err
		}
		at := spot{s.RouteID, s.Key}
		// of a call with several routes that share workers each step is counted alone:
		// those of the others stand between
		c, known := ahead[at]
		mixed := len(shared.routes) > 1 && i > 0 && steps[i-1] != nil && steps[i-1].RouteID != s.RouteID
		if !known || mixed {
			if queries++; queries > placedRoutes {
				continue
			}
			if c.n, c.least, err = e.ahead(ctx, shared, s); err != nil {
				return nil, err
			}
		}
		p := e.queuePlace(shared, c.n, c.least)
		out[i] = &p
		c.n = min(c.n+1, manyAhead)
		ahead[at] = c
	}
	return out, nil
}
