package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// pool is a route with the routes that share its workers, which take the steps of all in one order. It is immutable.
type pool struct {
	routes []int64 // sorted, with the route itself
	kinds  []*servedRoutes
}

// Routes seldom change, and each submission through the queue API reads pools.
type pools struct {
	stale atomic.Bool // a worker has registered

	mu    sync.Mutex
	until task.Instant
	since task.Instant
	kinds []*servedRoutes
	of    map[int64]*pool
}

const poolsKept = time.Second

// Above maxPooled routes, a position is a minimum.
const maxPooled = 500

// pool holds mu during the read, so that concurrent submissions share it.
func (e *Engine) pool(ctx context.Context, route int64) (*pool, error) {
	p, now := &e.pools, e.instant()
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
	made := &pool{routes: []int64{route}}
	for _, k := range p.kinds {
		routes := k.routes()
		if _, serves := slices.BinarySearch(routes, route); serves {
			made.kinds = append(made.kinds, k)
			made.routes = append(made.routes, routes...)
		}
	}
	slices.Sort(made.routes)
	made.routes = slices.Compact(made.routes)
	p.of[route] = made
	return made, nil
}

// readPools groups active workers with the same routes. The caller holds mu.
func (e *Engine) readPools(ctx context.Context, now task.Instant) error {
	workers, err := e.store.Workers(ctx, now)
	if err != nil {
		return err
	}
	p := &e.pools
	p.kinds, p.of, p.since, p.until = nil, map[int64]*pool{}, now, now.Add(poolsKept)
	for _, w := range workers {
		if w.State != task.WorkerActive || w.Cordoned() {
			continue
		}
		if k := e.catalog.served(w); !slices.Contains(p.kinds, k) {
			p.kinds = append(p.kinds, k)
		}
	}
	return nil
}

// ahead counts up to manyAhead steps; least reports that there may be more.
func (e *Engine) ahead(ctx context.Context, p *pool, s *task.Step) (n int, least bool, err error) {
	routes := p.routes
	if len(routes) > maxPooled {
		routes, least = append([]int64{s.RouteID}, routes[:maxPooled]...), true
		slices.Sort(routes)
		routes = slices.Compact(routes)
	}
	n, err = e.Ahead(ctx, routes, s.Key, s.ID, manyAhead)
	return n, least || n >= manyAhead, err
}

func (e *Engine) rate(p *pool) float64 {
	now, total := e.instant(), 0.0
	for _, k := range p.kinds {
		total += e.meter.rateOf(k.name, now) + e.peerReports.rateOf(k.name, now)
	}
	return total
}

const manyAhead = 10_000
