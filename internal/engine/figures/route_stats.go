package figures

import (
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// RouteStats are the numbers of one route's queue.
type RouteStats struct {
	Route               task.Route
	Ready               int // waiting steps
	Oldest              task.Instant
	P50, P95            time.Duration
	Assigned, Executing int
	Handed              int
}

// RouteCensus are the numbers of several routes' queues.
type RouteCensus struct {
	At task.Instant
	// Sampled: P50 and P95 come from a sample. Capped: not all steps were counted.
	Sampled, Capped bool
	Routes          []RouteStats // in no order
}

// RouteCensus returns the queues of some or all namespaces. All numbers but Handed may be some seconds old.
func (e *Room) RouteCensus(ctx context.Context, namespaces []string) (*RouteCensus, error) {
	g, err := e.queueSample(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.byRoute(ctx, e.Kernel); err != nil {
		return nil, err
	}
	handed, pass := e.handedByRoute(e.Now()), kernel.Passing(namespaces)
	out := &RouteCensus{At: g.at, Sampled: g.stride > 1, Capped: g.capped}
	for _, s := range g.stats {
		if pass(s.Route.Namespace) {
			s.Handed = handed[s.Route.ID]
			out.Routes = append(out.Routes, s)
		}
	}
	return out, nil
}

// byRoute runs once per sample. A sample may lack short queues, so the longest-waiting steps of some routes come from
// the store.
func (g *queueSample) byRoute(ctx context.Context, e *kernel.Kernel) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stats != nil {
		return nil
	}
	at := make(map[int64]*RouteStats, len(g.routes))
	stats := make([]RouteStats, len(g.routes))
	for i, r := range g.routes {
		stats[i] = RouteStats{Route: *r, Ready: g.counts[r.ID]}
		at[r.ID] = &stats[i]
	}
	ages := map[int64][]time.Duration{}
	for _, s := range g.sample {
		r := at[s.Route]
		if r == nil || r.Ready == 0 {
			continue
		}
		ages[s.Route] = append(ages[s.Route], max(g.at.Sub(s.ReadyAt), 0))
		if r.Oldest == 0 || s.ReadyAt < r.Oldest {
			r.Oldest = s.ReadyAt
		}
	}
	for _, c := range g.leased {
		switch r := at[c.Route]; {
		case r == nil:
		case c.State == task.StepAssigned:
			r.Assigned += c.Steps
		default:
			r.Executing += c.Steps
		}
	}
	exact := MaxRoutes
	for i := range stats {
		r := &stats[i]
		list := ages[r.Route.ID]
		slices.Sort(list)
		r.P50, r.P95 = quantile(list, 0.5), quantile(list, 0.95)
		if r.Ready == 0 || g.stride == 1 || exact == 0 {
			continue
		}
		exact--
		oldest, err := Of(e).oldest(ctx, r.Route.ID)
		if err != nil {
			return err
		}
		if oldest != 0 && (r.Oldest == 0 || oldest < r.Oldest) {
			r.Oldest = oldest
		}
	}
	g.stats = stats
	return nil
}

// handedByRoute covers the last minute of all processes.
func (e *Room) handedByRoute(now task.Instant) map[int64]int {
	out := e.Meter.HandedByRoute(now)
	e.PeerReports.Each(now, func(r *kernel.Report) {
		for route, n := range r.Routes {
			out[route] += n
		}
	})
	return out
}
