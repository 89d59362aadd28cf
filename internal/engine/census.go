package engine

import (
	"context"
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Census is the state of the engine, counted at one time.
type Census struct {
	At task.Instant
	// Ready lists routes and the steps ready on them: at most MaxRoutes routes, those stored first.
	Ready []ReadyCount
	// Leased counts the steps held by workers, Waiting those that wait for a time: a retry, a snooze, run_at. Each is
	// counted up to CensusLimit.
	Leased, Waiting int
	// NextDue is the earliest time that a step waits for; 0 when none waits. A time in the past is overdue: the loop
	// that fires timers is behind.
	NextDue task.Instant
	// Workers counts workers by state; dead ones only if they died in the last hour. Capacity and Load, the steps that
	// they hold, exclude dead workers.
	Workers        map[task.WorkerState]int
	Capacity, Load int
	// Breakers counts the circuit breakers of workers that are not dead, by state.
	Breakers       map[task.BreakerState]int
	Queue          *QueueCensus // nil: too long to count in time
	Investigations Investigations
	// Closed counts the routes that a pause closes, and Outages those with an open outage.
	Closed, Outages int
	// Waits counts the steps that wait for what no worker does, by kind, up to CensusLimit each.
	Waits map[task.WaitKind]int
	// Limits counts the limits of operators in force, and FullLimits those that let nothing begin for the moment.
	Limits, FullLimits int
	// Dispatch describes how steps reach workers in this process.
	Dispatch DispatchState
	// ClockOffset is how far this machine's wall clock is ahead of the database's; 0 where the database has no clock.
	ClockOffset time.Duration
	// ClockStep is how far the clock that decides, of the database or of the machine, has been stepped, as far as that
	// is not believed yet.
	ClockStep time.Duration
}

// ReadyCount is the number of steps ready on a route, up to CensusLimit.
type ReadyCount struct {
	Route  task.Route
	Steps  int
	Oldest task.Instant // when the longest-waiting step became ready; 0: none is
}

// Investigations counts open cases, and tasks by the health of their staleness: healthy, warning, stale. A task that is
// too young to be anything but healthy is not counted.
type Investigations struct {
	Pending int
	Health  map[string]int
}

// Bounds of a Census. A queue of a million steps costs no more than one of CensusLimit.
const (
	CensusLimit = 100_000
	MaxRoutes   = 500
	// censusBudget bounds the steps counted on all routes together.
	censusBudget = 500_000
	// deadWorkers is how long after its death a worker is counted.
	deadWorkers = time.Hour
)

// Census counts tasks, steps and workers. It only reads. Its cost grows with the number of
// routes and, up to the bounds, with the number of ready steps. It is safe for concurrent use,
// and is meant for an operator or a scrape, not for the hot path. The parts are read one after
// another, so they may differ by what happens meanwhile.
func (e *Engine) Census(ctx context.Context) (*Census, error) {
	c := &Census{At: e.instant(), Closed: e.ClosedRoutes(), Outages: e.OpenOutages(), Dispatch: e.DispatchState(),
		Workers:  map[task.WorkerState]int{},
		Breakers: map[task.BreakerState]int{}}
	c.ClockStep = e.suspected()
	c.Limits, c.FullLimits = e.catalog.limits.Load().count(c.At)
	if e.cluster != nil {
		c.ClockOffset = e.cluster.ClockOffset()
	}
	if err := e.countReady(ctx, c); err != nil {
		return nil, err
	}
	var err error
	if c.Leased, err = e.queuePlaces.Depth(ctx, task.Leases, math.MaxInt64, task.ID{}, CensusLimit); err != nil {
		return nil, err
	}
	if c.Waiting, err = e.queuePlaces.Depth(ctx, task.Timers, math.MaxInt64, task.ID{}, CensusLimit); err != nil {
		return nil, err
	}
	next, err := e.queuePlaces.First(ctx, task.Timers, 0)
	if err != nil {
		return nil, err
	}
	if next != nil {
		c.NextDue = task.Instant(next.Key)
	}
	if c.Waits, err = e.waitReads.CountWaits(ctx, CensusLimit); err != nil {
		return nil, err
	}
	if err := e.countWorkers(ctx, c); err != nil {
		return nil, err
	}
	if c.Queue, err = e.countInTime(ctx); err != nil {
		return nil, err
	}
	c.Investigations, err = e.countInvestigations(ctx)
	return c, err
}

// countReady counts the routes that have ready steps. It reads the routes from the store, because another process may
// have added some.
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
			if n, err = e.Depth(ctx, r.ID, math.MaxInt64, task.ID{}, min(CensusLimit, max(budget, 1))); err != nil {
				return err
			}
		}
		budget -= n
		c.Ready = append(c.Ready, ReadyCount{Route: *r, Steps: n, Oldest: oldest})
	}
	return nil
}

// oldest returns the time at which the longest-waiting step on a route became ready; 0 when none is ready. Steps are
// ordered by time within a band of the queue, so that step is the first of one of the bands. Where priorities age, all
// steps are in one band and only roughly in order of time: then it is the longest-waiting of the first few.
func (e *Engine) oldest(ctx context.Context, route int64) (task.Instant, error) {
	var oldest task.Instant
	for from := int64(0); ; {
		steps, err := e.queuePlaces.ReadyAfter(ctx, route, from, task.ID{}, e.sampleSize())
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

// sampleSize is how many of the first steps in a band are read to find the oldest.
func (e *Engine) sampleSize() int {
	if e.Order().Mode == task.Aging {
		return 100
	}
	return 1
}

// countWorkers counts workers, their capacity and their load.
func (e *Engine) countWorkers(ctx context.Context, c *Census) error {
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
