package figures

import (
	"context"
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/engine/cases"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Census is the state of the engine at one time.
type Census struct {
	At task.Instant
	// Ready lists the MaxRoutes routes stored first.
	Ready []ReadyCount
	// Leased steps are held by workers, Waiting ones wait for a time. Each is counted up to CensusLimit.
	Leased, Waiting int
	// NextDue is the earliest time that a step waits for; 0: none. If it is past, the timer loop is behind.
	NextDue task.Instant
	// Workers counts workers by state; dead ones for an hour. Capacity and Load (steps held) exclude dead workers.
	Workers        map[task.WorkerState]int
	Capacity, Load int
	// Breakers counts breakers of live workers by state.
	Breakers       map[task.BreakerState]int
	Queue          *QueueCensus // nil: not counted in time
	Investigations cases.Investigations
	// Closed counts routes that a pause closes, Outages those with an open outage.
	Closed, Outages int
	// Waits counts steps that wait for no worker, by kind, up to CensusLimit each.
	Waits map[task.WaitKind]int
	// Limits counts limits of operators in force, FullLimits those that admit nothing now.
	Limits, FullLimits int
	// Dispatch describes how steps reach workers in this process.
	Dispatch kernel.DispatchState
	// ClockOffset is how far this machine's clock is ahead of the database's; 0 without a database clock.
	ClockOffset time.Duration
	// ClockStep is a step of the deciding clock that is not believed yet.
	ClockStep time.Duration
}

// ReadyCount counts the steps ready on a route, up to CensusLimit.
type ReadyCount struct {
	Route  task.Route
	Steps  int
	Oldest task.Instant // since when the longest-waiting step is ready; 0: none
}

// Bounds of a Census.
const (
	MaxRoutes    = 500
	censusBudget = 500_000
	deadWorkers  = time.Hour
)

// Census reads only. Its cost grows with the routes and, up to the bounds, the ready steps: call it for an operator
// or a scrape. The parts are read one after another and may differ.
func (e *Room) Census(ctx context.Context) (*Census, error) {
	c := &Census{At: e.Now(), Closed: e.ClosedRoutes(), Outages: e.OpenOutages(), Dispatch: e.DispatchState(),
		Workers:  map[task.WorkerState]int{},
		Breakers: map[task.BreakerState]int{}}
	c.ClockStep = e.Suspected()
	c.Limits, c.FullLimits = e.Catalog.Limits.Load().Count(c.At)
	if e.Cluster != nil {
		c.ClockOffset = e.Cluster.ClockOffset()
	}
	if err := e.countReady(ctx, c); err != nil {
		return nil, err
	}
	var err error
	if c.Leased, err = e.Places.Depth(ctx, task.Leases, math.MaxInt64, task.ID{}, cases.CensusLimit); err != nil {
		return nil, err
	}
	if c.Waiting, err = e.Places.Depth(ctx, task.Timers, math.MaxInt64, task.ID{}, cases.CensusLimit); err != nil {
		return nil, err
	}
	next, err := e.Places.First(ctx, task.Timers, 0)
	if err != nil {
		return nil, err
	}
	if next != nil {
		c.NextDue = task.Instant(next.Key)
	}
	if c.Waits, err = e.WaitReads.CountWaits(ctx, cases.CensusLimit); err != nil {
		return nil, err
	}
	if err := e.countWorkers(ctx, c); err != nil {
		return nil, err
	}
	if c.Queue, err = e.countInTime(ctx); err != nil {
		return nil, err
	}
	c.Investigations, err = cases.Of(e.Kernel).CountInvestigations(ctx)
	return c, err
}

// countReady reads the routes from the store, because other processes add some.
func (e *Room) countReady(ctx context.Context, c *Census) error {
	routes, err := e.Store.Routes(ctx)
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
			if n, err = e.Depth(ctx, r.ID, math.MaxInt64, task.ID{}, min(cases.CensusLimit, max(budget, 1))); err != nil {
				return err
			}
		}
		budget -= n
		c.Ready = append(c.Ready, ReadyCount{Route: *r, Steps: n, Oldest: oldest})
	}
	return nil
}

// oldest returns since when the longest-waiting step is ready; 0: none. Bands are ordered by time, so the first step
// of some band is the oldest. With ageing there is one band, roughly in order, so it looks at the first few.
func (e *Room) oldest(ctx context.Context, route int64) (task.Instant, error) {
	var oldest task.Instant
	for from := int64(0); ; {
		steps, err := e.Places.ReadyAfter(ctx, route, from, task.ID{}, e.sampleSize())
		if err != nil || len(steps) == 0 {
			return oldest, err
		}
		for _, s := range steps {
			if oldest == 0 || s.ReadyAt < oldest {
				oldest = s.ReadyAt
			}
		}
		next := task.StrictKey(task.KeyLevel(steps[0].Key)-1, 0)
		if task.KeyLevel(steps[0].Key) <= 0 || next <= from {
			return oldest, nil
		}
		from = next
	}
}

func (e *Room) sampleSize() int {
	if e.Order().Mode == task.Aging {
		return 100
	}
	return 1
}

func (e *Room) countWorkers(ctx context.Context, c *Census) error {
	workers, err := e.Workers(ctx, deadWorkers)
	if err != nil {
		return err
	}
	loads, err := e.Loads(ctx)
	if err != nil {
		return err
	}
	for _, w := range workers {
		c.Workers[w.State]++
		if w.State != task.WorkerDead {
			c.Capacity += w.Capacity
			c.Load += loads[w.No]
			c.Breakers[e.BreakerOf(w)]++
		}
	}
	return nil
}
