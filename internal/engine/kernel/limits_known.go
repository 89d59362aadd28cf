package kernel

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/model/task"
)

// knownLimit.until is a hint that the limit is full: claims skip its routes until then, or until a permit is freed.
type knownLimit struct {
	*task.OperatorLimit
	no    int64
	epoch atomic.Int64 // grows with every freed permit
	until atomic.Int64
}

func (l *knownLimit) full(now task.Instant) bool { return l.until.Load() > int64(now) }

// open reports whether there was a hint.
func (l *knownLimit) open() bool {
	l.epoch.Add(1)
	return l.until.Swap(0) != 0
}

// close sets the hint, unless a permit was freed since the epoch.
func (l *knownLimit) close(until task.Instant, epoch int64) {
	if l.epoch.Load() != epoch {
		return
	}
	l.until.Store(int64(until))
	if l.epoch.Load() != epoch {
		l.until.Store(0)
	}
}

// knownLimits is a snapshot of operators' limits; only the hints change.
type knownLimits struct {
	byTarget map[task.PauseTarget]*knownLimit
	byNo     map[int64]*knownLimit
	byRoute  map[int64][]*knownLimit
	// ended is when the last limit of a target ended; limits on time count from then.
	ended map[task.PauseTarget]task.Instant
}

func (k *knownLimits) Count(now task.Instant) (inForce, full int) {
	if k == nil {
		return 0, 0
	}
	for _, l := range k.byTarget {
		if l.full(now) {
			full++
		}
	}
	return len(k.byTarget), full
}

// limitsOf returns nil without rows.
func limitsOf(rows []task.OperatorLimit) *knownLimits {
	if len(rows) == 0 {
		return nil
	}
	k := &knownLimits{byTarget: map[task.PauseTarget]*knownLimit{}, byNo: map[int64]*knownLimit{},
		byRoute: map[int64][]*knownLimit{}, ended: map[task.PauseTarget]task.Instant{}}
	for i := range rows {
		if l := &rows[i]; l.EndedAt != 0 {
			k.ended[l.PauseTarget] = l.EndedAt
		} else {
			known := &knownLimit{OperatorLimit: l, no: l.LimitNo()}
			k.byTarget[l.PauseTarget], k.byNo[known.no] = known, known
		}
	}
	return k
}

func (k *knownLimits) of(r *task.Route) (found []*knownLimit) {
	for _, t := range targetsOf(r) {
		if l := k.byTarget[t]; l != nil {
			found = append(found, l)
		}
	}
	return found
}

// endedSince is when the last remembered limit ended, or 0.
func (k *knownLimits) endedSince(r *task.Route) (since task.Instant) {
	for _, t := range targetsOf(r) {
		since = max(since, k.ended[t])
	}
	return since
}

func (k *knownLimits) limited(routes []int64, each func(route int64, by []*knownLimit)) {
	if len(k.byRoute) < len(routes) {
		for r, by := range k.byRoute {
			if _, found := slices.BinarySearch(routes, r); found {
				each(r, by)
			}
		}
		return
	}
	for _, r := range routes {
		if by := k.byRoute[r]; len(by) > 0 {
			each(r, by)
		}
	}
}

func LimitsFeature() Feature {
	return Feature{
		Name: "limits of operators",
		Of:   limitedRoutes,
		Moved: func(u *Unit, w Work, from task.StepState) {
			if by := u.E.Catalog.limitsOn(w.Step.RouteID); by != nil {
				gateSlot.Of(u).leftLimits(w, from, by)
			}
		},
		After: []FollowUp{{afterLimits, "freed permits",
			gateSlot.After(func(g *gates) { g.u.E.permitsFreed(g.operators) })}},
	}
}

// limitsOn is called for each step that becomes ready, or whose attempt ends.
func (c *catalog) limitsOn(route int64) []*knownLimit {
	k := c.Limits.Load()
	if k == nil {
		return nil
	}
	return k.byRoute[route]
}

// passable expects sorted routes.
func (c *catalog) passable(routes []int64, now task.Instant) []int64 {
	k := c.Limits.Load()
	if k == nil {
		return routes
	}
	var full []int64
	k.limited(routes, func(r int64, by []*knownLimit) {
		if slices.ContainsFunc(by, func(l *knownLimit) bool { return l.full(now) }) {
			full = append(full, r)
		}
	})
	return withoutRoutes(routes, full)
}

func withoutRoutes(routes, some []int64) []int64 {
	if len(some) == 0 {
		return routes
	}
	return slices.DeleteFunc(slices.Clone(routes), func(r int64) bool { return slices.Contains(some, r) })
}

// passableAt returns when a poll must look at a full limit again, or 0. Routes are sorted.
func (c *catalog) passableAt(routes []int64, looked task.Instant) (at task.Instant) {
	k := c.Limits.Load()
	if k == nil {
		return 0
	}
	k.limited(routes, func(_ int64, by []*knownLimit) {
		for _, l := range by {
			if until := task.Instant(l.until.Load()); until > looked && (at == 0 || until < at) {
				at = until
			}
		}
	})
	return at
}

// permitsFreed returns the routes of the limits, and those on which steps may wait.
func (c *catalog) permitsFreed(nos map[int64]struct{}) (routes, waiting []int64) {
	k := c.Limits.Load()
	if k == nil || len(nos) == 0 {
		return nil, nil
	}
	full := map[int64]bool{}
	for no := range nos {
		if l := k.byNo[no]; l != nil {
			full[no] = l.open()
		}
	}
	for r, by := range k.byRoute {
		for _, l := range by {
			if was, freed := full[l.no]; freed {
				routes = append(routes, r)
				if was {
					waiting = append(waiting, r)
				}
				break
			}
		}
	}
	return routes, waiting
}

// setLimits makes polls that serve a limited route check again. nil: no limits.
func (c *catalog) setLimits(now *knownLimits) {
	c.mu.Lock()
	var concerned []*task.Route
	before := c.Limits.Load()
	for id, r := range c.byRoute {
		was := before != nil && len(before.byRoute[id]) > 0
		if now != nil {
			if by := now.of(r.Route); len(by) > 0 {
				now.byRoute[id] = by
				was = true
			}
		}
		if was {
			concerned = append(concerned, r.Route)
		}
	}
	c.Limits.Store(now)
	c.mu.Unlock()
	if len(concerned) > 0 {
		c.widened(concerned)
	}
}

// The caller holds mu.
func (c *catalog) noteLimited(fresh []*task.Route) {
	before := c.Limits.Load()
	if before == nil {
		return
	}
	now := *before
	now.byRoute = maps.Clone(before.byRoute)
	for _, r := range fresh {
		if by := before.of(r); len(by) > 0 {
			now.byRoute[r.ID] = by
		}
	}
	c.Limits.Store(&now)
}

// The caller holds mu.
func (c *catalog) dropLimited(gone []*task.Route) {
	before := c.Limits.Load()
	if before == nil {
		return
	}
	now := *before
	now.byRoute = maps.Clone(before.byRoute)
	for _, r := range gone {
		delete(now.byRoute, r.ID)
	}
	c.Limits.Store(&now)
}
