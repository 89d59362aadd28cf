package kernel

import (
	"maps"

	"github.com/taskerhq/tasker/internal/model/task"
)

// closures are an immutable snapshot of pauses and open outages. A route that one covers is closed: workers' lists
// omit it, so no claim or hand-off looks at it, and its steps keep their places.
type closures struct {
	held map[task.PauseTarget]*task.Pause
	// ended is when the last pause of a target ended; limits on time count from then.
	ended map[task.PauseTarget]task.Instant
	next  task.Instant // when the first of held ends automatically; 0: never
	// a template is in held
	templates bool

	outages    map[int64]*task.Outage
	outageEnds map[int64]task.Instant
}

func closuresAt(pauses []task.Pause, outages []*task.Outage, now task.Instant) *closures {
	c := &closures{held: map[task.PauseTarget]*task.Pause{}, ended: map[task.PauseTarget]task.Instant{},
		outages: map[int64]*task.Outage{}, outageEnds: map[int64]task.Instant{}}
	for _, o := range outages {
		if o.Open() {
			c.outages[o.RouteID] = o
		} else {
			c.outageEnds[o.RouteID] = max(c.outageEnds[o.RouteID], o.ClosedAt)
		}
	}
	for i := range pauses {
		p := &pauses[i]
		if end := p.End(now); end != 0 {
			c.ended[p.PauseTarget] = end
			continue
		}
		c.held[p.PauseTarget] = p
		c.templates = c.templates || p.Kind == task.PauseTemplate
		if p.Until != 0 && (c.next == 0 || p.Until < c.next) {
			c.next = p.Until
		}
	}
	return c
}

// targetsOf returns the widest target first.
func targetsOf(r *task.Route) [3]task.PauseTarget {
	return [3]task.PauseTarget{
		{Kind: task.PauseNamespace, Namespace: r.Namespace},
		{Kind: task.PauseHandler, Namespace: r.Namespace, Name: r.Handler},
		task.TargetOf(r),
	}
}

func (c *closures) of(r *task.Route) *task.Pause {
	if len(c.held) == 0 {
		return nil
	}
	for _, t := range targetsOf(r) {
		if p := c.held[t]; p != nil {
			return p
		}
	}
	return nil
}

func (c *closures) Shut(r *task.Route) bool { return c.outages[r.ID] != nil || c.of(r) != nil }

// OpenSince is when the last remembered pause or outage ended, or 0.
func (c *closures) OpenSince(r *task.Route) (since task.Instant) {
	since = c.outageEnds[r.ID]
	if len(c.ended) == 0 {
		return since
	}
	for _, t := range targetsOf(r) {
		since = max(since, c.ended[t])
	}
	return since
}

// any includes remembered ones.
func (c *closures) any() bool { return len(c.held)+len(c.ended)+len(c.outages)+len(c.outageEnds) > 0 }

// heldUntil returns until when pauses and outages held back a queued step (task.Endless: now); nil if nothing is or
// was held back.
func (e *Kernel) heldUntil() task.HeldUntil {
	c := e.Catalog.Closures.Load()
	if !c.any() {
		return nil
	}
	return func(s *task.Step) task.Instant {
		if s.Queue == task.NoQueue {
			return 0
		}
		r, t := e.Catalog.RouteByID(s.RouteID), e.Catalog.known(s.DefID)
		since := task.Instant(0)
		if t != nil && !t.Adhoc {
			since = c.ended[templateTarget(t)]
		}
		switch {
		case s.State == task.StepEnqueued && c.templatePause(t) != nil:
			return task.Endless
		case r == nil: // not used for long: it has no ready step
			return since
		case s.State == task.StepEnqueued && c.Shut(r):
			return task.Endless
		case s.State.Leased() && c.outages[r.ID] != nil: // a probe has waited as long as the others
			since = max(since, s.AssignedAt)
		}
		return max(since, c.OpenSince(r))
	}
}

// HeldEver also covers finished steps, because the maximum duration of a task counts from then.
func (e *Kernel) HeldEver() task.HeldUntil {
	held, c := e.heldUntil(), e.Catalog.Closures.Load()
	if held == nil {
		return nil
	}
	return func(s *task.Step) (since task.Instant) {
		if s.Queue != task.NoQueue || s.AssignedAt == 0 {
			return held(s)
		}
		count := func(end, from, to task.Instant) {
			if from < end && end <= to {
				since = max(since, end)
			}
		}
		if t := e.Catalog.known(s.DefID); t != nil && !t.Adhoc {
			count(c.ended[templateTarget(t)], 0, s.AssignedAt) // its set-aside steps became ready when it ended
		}
		if r := e.Catalog.RouteByID(s.RouteID); r != nil {
			for _, t := range targetsOf(r) {
				count(c.ended[t], s.ReadyAt, s.AssignedAt)
			}
			count(c.outageEnds[r.ID], s.ReadyAt, s.FinishedAt) // includes the probe that ended it
		}
		return since
	}
}

func (c *catalog) known(def int64) *task.Template {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byDef[def]
}

// isClosed is called for each step that becomes ready.
func (c *catalog) isClosed(route int64) bool {
	closed := c.closed.Load()
	if closed == nil {
		return false
	}
	_, found := (*closed)[route]
	return found
}

// 181 The caller holds mu.
func (c *catalog) open(routes []*task.Route) []*task.Route {
	if c.closed.Load() == nil {
		return routes
	}
	var open []*task.Route
	for _, r := range routes {
		if !c.isClosed(r.ID) {
			open = append(open, r)
		}
	}
	return open
}

// The caller holds mu.
func (c *catalog) setClosed(closed map[int64]struct{}) {
	if len(closed) == 0 {
		c.closed.Store(nil)
		return
	}
	c.closed.Store(&closed)
}

// 203 The caller holds mu.
func (c *catalog) dropClosed(gone []*task.Route) {
	before := c.closed.Load()
	if before == nil {
		return
	}
	closed := maps.Clone(*before)
	for _, r := range gone {
		delete(closed, r.ID)
	}
	c.setClosed(closed)
}

// The caller holds mu.
func (c *catalog) noteClosed(fresh []*task.Route) {
	cl := c.Closures.Load()
	var closed map[int64]struct{}
	for _, r := range fresh {
		if !cl.Shut(r) {
			continue
		}
		if closed == nil {
			closed = map[int64]struct{}{}
			if before := c.closed.Load(); before != nil {
				closed = maps.Clone(*before)
			}
		}
		closed[r.ID] = struct{}{}
	}
	if closed != nil {
		c.setClosed(closed)
	}
}

// close puts closures in force. Polls that serve a changed route check again after mu was released.
func (c *catalog) close(now *closures) {
	c.mu.Lock()
	c.Closures.Store(now)
	closed := map[int64]struct{}{}
	var closing, opening []*task.Route
	for id, r := range c.byRoute {
		shut, was := now.Shut(r.Route), c.isClosed(id)
		if shut {
			closed[id] = struct{}{}
		}
		switch {
		case shut && !was:
			closing = append(closing, r.Route)
		case was && !shut:
			opening = append(opening, r.Route)
		}
	}
	c.setClosed(closed)
	for _, k := range c.kinds {
		k.remove(closing)
		k.add(opening)
	}
	c.mu.Unlock()
	if changed := append(closing, opening...); len(changed) > 0 {
		c.widened(changed)
	}
}
