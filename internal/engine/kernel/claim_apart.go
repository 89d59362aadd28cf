package kernel

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A step that cannot be handed out, because its row cannot be read or stored, must not keep the others of its queue
// from workers. When a claim fails, its steps are tried in ever smaller parts; one that fails alone rests, in this
// process. While steps rest on a route, its polls find steps without locks and claim them in parts.

const (
	// claimPart bounds the steps of one such claim, and claimRetries how many of them fail again.
	claimPart, claimRetries = 64, 3
	// restPage bounds how many resting steps one read of a route passes.
	restPage = 1000
	// restLook bounds how often a waiting poll looks whether a rest is over.
	restLook = 100 * time.Millisecond
)

// readyStep names a step on its route.
type readyStep struct {
	ID    task.ID
	Route int64
}

func (r readyStep) String() string { return r.ID.String() }

func (e *Kernel) restOn(routes []int64) task.Instant {
	rows := e.due.claims
	if rows.Resting() == 0 {
		return 0
	}
	return rows.Next(func(r readyStep) bool {
		_, on := slices.BinarySearch(routes, r.Route)
		return on
	})
}

// restsUntil returns when a waiting poll must try a resting step again, or 0. Nothing else would wake it.
func (e *Kernel) restsUntil(routes []int64, now task.Instant) task.Instant {
	if at := e.restOn(routes); at != 0 {
		return max(at, now.Add(restLook))
	}
	return 0
}

// claimStored claims together for all polls, except on routes with resting steps.
func (e *Kernel) claimStored(calls []*poller) ([][]Lease, error) {
	out := make([][]Lease, len(calls))
	var together, apart [][]slot
	for _, g := range groupByRoutes(calls) {
		if e.restOn(g[0].routes) == 0 {
			together = append(together, g)
		} else {
			apart = append(apart, g)
		}
	}
	var failed error
	if len(together) > 0 {
		if failed = e.claimTogether(together, out); failed != nil {
			clear(out)
			apart = slices.Concat(together, apart)
		}
	}
	var stepped []due.Fault
	for _, g := range apart {
		faults, err := e.claimApart(context.Background(), g, out)
		stepped = append(stepped, faults...)
		if err != nil && empty(out) {
			return nil, errors.Join(failed, err)
		} else if err != nil {
			claimAgain(g)
		}
	}
	e.claimsStepped(stepped)
	return out, nil
}

// claimsStepped ignores an error: the leases must reach their workers, and the rows fail again.
func (e *Kernel) claimsStepped(faults []due.Fault) {
	if len(faults) > 0 {
		_ = e.StepOver(context.Background(), "claim", &due.Error{What: claimWhat, Faults: faults})
	}
}

const claimWhat = "the ready step"

// claimApart serves polls of the same routes, and returns the steps that failed. Those that failed before come first:
// a row that was repaired must not wait for an idle queue.
func (e *Kernel) claimApart(ctx context.Context, g []slot, out [][]Lease) ([]due.Fault, error) {
	now, room := e.Now(), 0
	for _, s := range g {
		room += s.capacity - len(out[s.at])
	}
	well, failed, more, err := e.claimable(ctx, g[0].routes, claimPart, min(room, claimPart))
	if err != nil {
		return nil, err
	}
	again := false
	some := func(ctx context.Context, list []readyStep) error {
		err := e.claimNamed(ctx, g, out, list)
		again = again || g[0].onlyParked
		return err
	}
	faults, err := e.claimResting(ctx, now, failed, some)
	if err == nil {
		var others []due.Fault
		others, err = faultsOf(e.due.claims.Try(ctx, now, well, some))
		faults = append(faults, others...)
	}
	if again || more {
		claimAgain(g)
	}
	return faults, err
}

// claimResting tries steps that have failed before one by one, until too many fail again.
func (e *Kernel) claimResting(ctx context.Context, now task.Instant, steps []readyStep,
	claim func(context.Context, []readyStep) error,
) (faults []due.Fault, err error) {
	for i := 0; i < len(steps) && len(faults) < claimRetries && err == nil; i++ {
		var fault []due.Fault
		fault, err = faultsOf(e.due.claims.Try(ctx, now, steps[i:i+1], claim))
		faults = append(faults, fault...)
	}
	return faults, err
}

// faultsOf separates the rows that fail from an error of another kind.
func faultsOf(err error) ([]due.Fault, error) {
	if rows := (*due.Error)(nil); errors.As(err, &rows) {
		return rows.Faults, nil
	}
	return nil, err
}

// claimable returns the first n steps of the routes that have not failed, and up to again of those that have; more
// reports others.
func (e *Kernel) claimable(ctx context.Context, routes []int64, n, again int) (well, failed []readyStep, more bool,
	err error,
) {
	now := e.Now()
	routes = e.Catalog.passable(routes, now)
	if e.Cluster != nil && len(routes) > 1 {
		occupied, err := e.Cluster.Occupied(ctx, routes, 1)
		if err != nil {
			return nil, nil, false, err
		}
		routes = slices.DeleteFunc(slices.Clone(routes), func(r int64) bool { return occupied[r] == 0 })
	}
	var steps []*task.Step
	for _, r := range routes {
		first, err := e.passResting(ctx, r, n)
		if err != nil {
			return nil, nil, false, err
		}
		steps = append(steps, first...)
	}
	slices.SortFunc(steps, func(a, b *task.Step) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), bytes.Compare(a.ID[:], b.ID[:]))
	})
	names := make([]readyStep, len(steps))
	for i, s := range steps {
		names[i] = readyStep{s.ID, s.RouteID}
	}
	well, failed = e.due.claims.Pick(now, names, n, again)
	return well, failed, len(well) == n, nil
}

// passResting reads a route until it has n steps that have not failed, and returns them with those before. It forgets
// resting steps that have left the route.
func (e *Kernel) passResting(ctx context.Context, route int64, n int) (steps []*task.Step, err error) {
	rows, at := e.due.claims, Position{Key: math.MinInt64}
	limit := n + min(rows.Resting(), restPage)
	seen := map[readyStep]bool{}
	for left := n; left > 0; {
		page, err := e.Places.ReadyAfter(ctx, route, at.Key, at.ID, limit)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			seen[readyStep{s.ID, route}] = true
			if steps = append(steps, s); !rows.Has(readyStep{s.ID, route}) {
				left--
			}
		}
		if len(page) < limit {
			rows.Forget(func(r readyStep) bool { return r.Route == route && !seen[r] })
			break
		}
		at = Position{page[limit-1].Key, page[limit-1].ID}
	}
	return steps, nil
}

// claimNamed leases those of the steps that are still ready, until the polls are full.
func (e *Kernel) claimNamed(ctx context.Context, g []slot, out [][]Lease, steps []readyStep) error {
	ids := make([]task.ID, len(steps))
	for i, s := range steps {
		ids[i] = s.ID
	}
	var got [][]Lease
	var limits *claimLimits
	err := e.Write(ctx, "claim", func(u *Unit) error {
		got = slices.Clone(out)
		limits = limitClaims(u, [][]slot{g})
		left := ids
		c := claiming{limits: limits, ready: func(routes []int64, want int) ([]Work, error) {
			some := left[:min(want, len(left))]
			left = left[len(some):]
			return u.readyAmong(routes, some)
		}}
		if err := u.claim(g, got, &c); err != nil {
			return err
		}
		return limits.save()
	})
	if err == nil {
		copy(out, got)
		limits.committed()
	}
	return err
}

// readyAmong is Tx.Ready for named steps.
func (u *Unit) readyAmong(routes []int64, ids []task.ID) ([]Work, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	works, err := u.Rows.Load(ids)
	if err != nil {
		return nil, err
	}
	works = slices.DeleteFunc(works, func(w Work) bool {
		return w.Step == nil || !w.Step.OnRoute() || !slices.Contains(routes, w.Step.RouteID)
	})
	var bare []*task.Task
	for _, w := range works {
		if w.Task.Context == nil && !slices.Contains(bare, w.Task) {
			bare = append(bare, w.Task)
		}
	}
	return works, u.Rows.ReadContexts(bare)
}
