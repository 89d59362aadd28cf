package engine

import (
	"context"
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// Census is what there is, counted at one time.
type Census struct {
	At task.Instant
	// Ready lists the routes and what is ready on them; not more than MaxRoutes,
	// those that were there first.
	Ready []ReadyCount
	// Leased counts the steps in the hands of workers, Waiting those that wait for
	// a time: a retry, a snooze, run_at. Each up to CensusLimit.
	Leased, Waiting int
	// NextDue is the earliest time that a step waits for; 0 when none does. One in
	// the past is overdue: the loop that fires timers is behind.
	NextDue task.Instant
	// Workers counts workers by state; the dead of the last hour only. Capacity and
	// Load are of those that are not dead.
	Workers        map[task.WorkerState]int
	Capacity, Load int
	Investigations Investigations
}

// ReadyCount is how many steps are ready on a route, up to CensusLimit.
type ReadyCount struct {
	Route  task.Route
	Steps  int
	Oldest task.Instant // when the one that has waited longest became ready; 0: none is
}

// Investigations counts open cases, and tasks by the health of their staleness:
// healthy, warning, stale. A task that is too young to be anything but healthy is
// not counted.
type Investigations struct {
	Pending int
	Health  map[string]int
}

// Bounds of a Census. The work is the same for a queue of a million as for one
// of CensusLimit.
const (
	CensusLimit = 100_000
	MaxRoutes   = 500
	// censusBudget bounds the steps counted on all routes together.
	censusBudget = 500_000
	deadWorkers  = time.Hour
)

// Census counts what there is. It reads; what it costs grows with the number of
// routes and, up to the bounds, of ready steps.
func (e *Engine) Census(ctx context.Context) (*Census, error) {
	c := &Census{At: e.instant(), Workers: map[task.WorkerState]int{}}
	if err := e.countReady(ctx, c); err != nil {
		return nil, err
	}
	var err error
	if c.Leased, err = e.store.Depth(ctx, task.Leases, math.MaxInt64, CensusLimit); err != nil {
		return nil, err
	}
	if c.Waiting, err = e.store.Depth(ctx, task.Timers, math.MaxInt64, CensusLimit); err != nil {
		return nil, err
	}
	next, err := e.store.First(ctx, task.Timers, 0)
	if err != nil {
		return nil, err
	}
	if next != nil {
		c.NextDue = task.Instant(next.Key)
	}
	if err := e.countWorkers(ctx, c); err != nil {
		return nil, err
	}
	c.Investigations, err = e.countInvestigations(ctx)
	return c, err
}

// countReady counts the routes that have ready steps. The routes are read
// afresh: another process may have added some.
func (e *Engine) countReady(ctx context.Context, c *Census) error {
	routes, err := e.store.Routes(ctx)
	if err != nil {
		return err
	}
	budget := censusBudget
	for _, r := range routes[:min(len(routes), MaxRoutes)] {
		oldest, err := e.oldest(ctx, r.ID)
		if err != nil {
			return err
		}
		n := 0
		if oldest != 0 {
			if n, err = e.store.Depth(ctx, r.ID, math.MaxInt64, min(CensusLimit, max(budget, 1))); err != nil {
				return err
			}
		}
		budget -= n
		c.Ready = append(c.Ready, ReadyCount{Route: *r, Steps: n, Oldest: oldest})
	}
	return nil
}

// oldest returns when the step became ready that has waited longest on a route,
// 0 when none is there. Steps are in order of time within a band of priority, so
// it is the first of one of the bands.
func (e *Engine) oldest(ctx context.Context, route int64) (task.Instant, error) {
	var oldest task.Instant
	for from := int64(0); ; {
		s, err := e.store.First(ctx, route, from)
		if err != nil || s == nil {
			return oldest, err
		}
		if oldest == 0 || s.ReadyAt < oldest {
			oldest = s.ReadyAt
		}
		next := task.StrictKey(s.Priority-1, 0)
		if s.Priority <= 0 || next <= from { // the last band, or keys of another order
			return oldest, nil
		}
		from = next
	}
}

func (e *Engine) countWorkers(ctx context.Context, c *Census) error {
	workers, err := e.Workers(ctx, deadWorkers)
	if err != nil {
		return err
	}
	for _, w := range workers {
		c.Workers[w.State]++
		if w.State != task.WorkerDead {
			c.Capacity += w.Capacity
			c.Load += w.Load
		}
	}
	return nil
}
