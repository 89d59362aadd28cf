package kernel

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Pool is a route with the routes that share its workers, which take the steps of all in one order. It is immutable.
type Pool struct {
	Routes []int64 // sorted, with the route itself
	kinds  []*servedRoutes
}

// Routes seldom change, and each submission through the queue API reads pools.
type pools struct {
	stale atomic.Bool // a worker has registered

	mu    sync.Mutex
	until task.Instant
	since task.Instant
	kinds []*servedRoutes
	of    map[int64]*Pool
}

const poolsKept = time.Second

// Above maxPooled routes, a position is a minimum.
const maxPooled = 500

// Pool holds mu during the read, so that concurrent submissions share it.
func (e *Kernel) Pool(ctx context.Context, route int64) (*Pool, error) {
	p, now := &e.pools, e.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if fresh := p.of != nil && now >= p.since && now < p.until; p.stale.Swap(false) || !fresh {
		if err := e.readPools(ctx, now); err != nil {
			p.stale.Store(true)
			return nil, err
		}
	}
	if known := p.of[route]; known != nil {
		return known, nil
	}
	made := &Pool{Routes: []int64{route}}
	for _, k := range p.kinds {
		routes := k.routes()
		if _, serves := slices.BinarySearch(routes, route); serves {
			made.kinds = append(made.kinds, k)
			made.Routes = append(made.Routes, routes...)
		}
	}
	slices.Sort(made.Routes)
	made.Routes = slices.Compact(made.Routes)
	p.of[route] = made
	return made, nil
}

// readPools groups active workers with the same routes. The caller holds mu.
func (e *Kernel) readPools(ctx context.Context, now task.Instant) error {
	workers, err := e.Store.Workers(ctx, now)
	if err != nil {
		return err
	}
	p := &e.pools
	p.kinds, p.of, p.since, p.until = nil, map[int64]*Pool{}, now, now.Add(poolsKept)
	for _, w := range workers {
		if w.State != task.WorkerActive || w.Cordoned() {
			continue
		}
		if k := e.Catalog.served(w); !slices.Contains(p.kinds, k) {
			p.kinds = append(p.kinds, k)
		}
	}
	return nil
}

// AheadOf counts up to manyAhead steps; least reports that there may be more.
func (e *Kernel) AheadOf(ctx context.Context, p *Pool, s *task.Step) (n int, least bool, err error) {
	routes := p.Routes
	if len(routes) > maxPooled {
		routes, least = append([]int64{s.RouteID}, routes[:maxPooled]...), true
		slices.Sort(routes)
		routes = slices.Compact(routes)
	}
	n, err = e.Ahead(ctx, routes, s.Key, s.ID, ManyAhead)
	return n, least || n >= ManyAhead, err
}

func (e *Kernel) Rate(p *Pool) float64 {
	now, total := e.Now(), 0.0
	for _, k := range p.kinds {
		total += e.Meter.rateOf(k.name, now) + e.PeerReports.rateOf(k.name, now)
	}
	return total
}

const ManyAhead = 10_000
