package kernel

import (
	"context"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The claim checks operators' limits in its transaction: it locks the limit's row, counts permits, and gives them to
// the steps for which there is room. If it is full, a hint makes later claims of this process skip its routes until a
// permit is freed. Steps keep their place in the queue.

// claimLimits is nil without limits.
type claimLimits struct {
	u       *Unit
	byRoute map[int64][]*knownLimit
	seen    map[*knownLimit]int64 // that may be needed, with their epochs before any read
	rooms   map[int64]*limitRoom  // nil: not locked yet
	permits []Permit
}

type limitRoom struct {
	row     task.OperatorLimit
	permits int // left; negative if more are in use than allowed
	passes  int // of the rate
	took    int
}

func (r *limitRoom) lets() bool {
	return (r.row.Permits == 0 || r.permits > 0) && (r.row.Rate.Zero() || r.passes > 0)
}

func limitClaims(u *Unit, groups [][]slot) *claimLimits {
	k := u.E.Catalog.Limits.Load()
	if k == nil {
		return nil
	}
	c := newClaimLimits(u, k)
	for _, g := range groups {
		k.limited(g[0].routes, func(_ int64, by []*knownLimit) { c.need(by) })
	}
	return c.needed()
}

func limitHolds(u *Unit, of map[task.ID]Hold) *claimLimits {
	k := u.E.Catalog.Limits.Load()
	if k == nil {
		return nil
	}
	c := newClaimLimits(u, k)
	for _, h := range of {
		c.need(k.byRoute[h.Route])
	}
	return c.needed()
}

func newClaimLimits(u *Unit, k *knownLimits) *claimLimits {
	return &claimLimits{u: u, byRoute: k.byRoute, seen: map[*knownLimit]int64{}}
}

func (c *claimLimits) need(by []*knownLimit) {
	for _, l := range by {
		if _, known := c.seen[l]; !known {
			c.seen[l] = l.epoch.Load()
		}
	}
}

func (c *claimLimits) needed() *claimLimits {
	if len(c.seen) == 0 {
		return nil
	}
	return c
}

func (c *claimLimits) open(routes []int64) []int64 {
	if c == nil {
		return routes
	}
	var full []int64
	for _, r := range routes {
		for _, l := range c.byRoute[r] {
			if room := c.rooms[l.no]; room == nil && l.full(c.u.Now) || room != nil && !room.lets() {
				full = append(full, r)
				break
			}
		}
	}
	return withoutRoutes(routes, full)
}

// firstLook is how many steps a claim under a limit reads first; it doubles with each read.
const firstLook = 64

func (c *claimLimits) look(routes []int64, want, n int) int {
	if c == nil || !slices.ContainsFunc(routes, func(r int64) bool { return len(c.byRoute[r]) > 0 }) {
		return want
	}
	return min(want, firstLook<<min(n, 5))
}

// pass lets done give back the passes of steps that are not leased.
func (c *claimLimits) pass(works []Work) ([]Work, error) {
	if c == nil || !slices.ContainsFunc(works, func(w Work) bool { return len(c.byRoute[w.Step.RouteID]) > 0 }) {
		return works, nil
	}
	if err := c.lock(); err != nil {
		return nil, err
	}
	passed := make([]Work, 0, len(works))
	for _, w := range works {
		if c.take(w.Step.RouteID) {
			passed = append(passed, w)
		}
	}
	return passed, nil
}

func (c *claimLimits) take(route int64) bool {
	by := c.byRoute[route]
	for _, l := range by {
		if room := c.rooms[l.no]; room != nil && !room.lets() {
			return false
		}
	}
	c.count(by, -1)
	return true
}

func (c *claimLimits) count(by []*knownLimit, n int) {
	for _, l := range by {
		if room := c.rooms[l.no]; room != nil {
			room.permits, room.passes, room.took = room.permits+n, room.passes+n, room.took-n
		}
	}
}

// done reports whether passed steps are not leased.
func (c *claimLimits) done(passed []Work) (unused bool) {
	if c == nil || c.rooms == nil {
		return false
	}
	for _, w := range passed {
		by := c.byRoute[w.Step.RouteID]
		if !w.Step.State.Leased() {
			c.count(by, 1)
			unused = true
			continue
		}
		for _, l := range by {
			if room := c.rooms[l.no]; room != nil && room.row.Permits > 0 {
				c.permits = append(c.permits, Permit{l.no, w.Step.ID})
			}
		}
	}
	return unused
}

// lock takes the limits in one order, after the steps, so that no holder of a limit waits for a step.
func (c *claimLimits) lock() error {
	if c.rooms != nil {
		return nil
	}
	u, nos := c.u, make([]int64, 0, len(c.seen))
	for l := range c.seen {
		nos = append(nos, l.no)
	}
	rows, err := u.E.limitStore.LockLimits(u.Ctx, u.Tx, nos)
	if err != nil {
		return err
	}
	counted := make([]int64, 0, len(rows))
	for i := range rows {
		if rows[i].Permits > 0 {
			counted = append(counted, rows[i].LimitNo())
		}
	}
	held := map[int64]int{}
	if len(counted) > 0 {
		if held, err = u.E.gateRows.CountPermits(u.Ctx, u.Tx, counted); err != nil {
			return err
		}
	}
	c.rooms = map[int64]*limitRoom{}
	for _, row := range rows {
		if row.EndedAt == 0 {
			no := row.LimitNo()
			room := &limitRoom{row: row, permits: row.Permits - held[no]}
			if !row.Rate.Zero() {
				room.passes = row.Rate.Free(row.Bucket, nanos(u.Now))
			}
			c.rooms[no] = room
		}
	}
	return nil
}

func (c *claimLimits) save() error {
	if c == nil || c.rooms == nil {
		return nil
	}
	for _, no := range slices.Sorted(maps.Keys(c.rooms)) {
		room := c.rooms[no]
		if room.took == 0 || room.row.Rate.Zero() {
			continue
		}
		room.row.Bucket = room.row.Rate.Take(room.row.Bucket, nanos(c.u.Now), room.took)
		if err := c.u.E.limitStore.SaveLimit(c.u.Ctx, c.u.Tx, &room.row); err != nil {
			return err
		}
	}
	if len(c.permits) == 0 {
		return nil
	}
	return c.u.E.gateRows.AddPermits(c.u.Ctx, c.u.Tx, c.permits)
}

// committed leaves hints for later claims.
func (c *claimLimits) committed() {
	if c == nil || c.rooms == nil {
		return
	}
	for l, epoch := range c.seen {
		room := c.rooms[l.no]
		if room == nil || room.lets() {
			continue
		}
		until := c.u.Now
		if room.row.Permits > 0 && room.permits <= 0 {
			until = c.u.Now.Add(c.u.E.Cfg.PollInterval)
		}
		if !room.row.Rate.Zero() && room.passes <= 0 {
			until = max(until, nextPass(&room.row, c.u.Now))
		}
		l.close(until, epoch)
	}
}

// passesLeft returns how many steps may pass on each limited route, by a recent count; nil without limits. The
// dispatcher is asked for that many, so that only the surplus of routes that share a limit is given back.
func (e *Kernel) passesLeft(calls []*poller) (map[int64]int, error) {
	k, now := e.Catalog.Limits.Load(), e.Now()
	if k == nil {
		return nil, nil
	}
	on, epochs := map[int64][]*knownLimit{}, map[*knownLimit]int64{}
	for _, p := range calls {
		k.limited(e.Catalog.passable(p.routes, now), func(r int64, by []*knownLimit) {
			on[r] = by
			for _, l := range by {
				epochs[l] = l.epoch.Load()
			}
		})
	}
	if len(on) == 0 {
		return nil, nil
	}
	nos := make([]int64, 0, len(epochs))
	for l := range epochs {
		nos = append(nos, l.no)
	}
	views, err := e.limitsNow(context.Background(), nos)
	if err != nil {
		return nil, err
	}
	left := make(map[int64]int, len(views))
	for i := range views {
		left[views[i].LimitNo()] = views[i].left(now)
	}
	most := map[int64]int{}
	for r, by := range on {
		most[r] = maxReady
		for _, l := range by {
			if n, inForce := left[l.no]; inForce {
				most[r] = min(most[r], n)
			}
		}
	}
	return most, nil
}

func (v *OperatorLimitView) left(now task.Instant) int {
	n := maxReady
	if v.Permits > 0 {
		n = min(n, max(v.Permits-v.Held, 0))
	}
	if !v.Rate.Zero() {
		n = min(n, v.Rate.Free(v.Bucket, nanos(now)))
	}
	return n
}

func (e *Kernel) permitsFreed(freed map[int64]int) {
	if len(freed) == 0 {
		return
	}
	nos := make(map[int64]struct{}, len(freed))
	n := 0
	for no, steps := range freed {
		nos[no] = struct{}{}
		n = max(n, steps)
	}
	routes, waiting := e.Catalog.permitsFreed(nos)
	e.waiters.version.Add(1) // a poll that has just found the limit full checks again
	if len(waiting) > 0 {
		wake := make(map[int64]int, len(waiting))
		for _, r := range waiting {
			wake[r] = n
		}
		e.waiters.ready(wake)
	}
	e.Publish(PeerEvents{Routes: routes, Freed: slices.Collect(maps.Keys(nos))})
}
