package engine

import (
	"cmp"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// readySteps are the steps that became ready in a unit, and the polls that it serves. It
// belongs to one unit and is used by one goroutine.
type readySteps struct {
	u *unit

	steps    []Work
	entering []Work         // became ready, and a feature may hold them back
	pollers  []*poller      // waiting polls that the unit serves
	vacant   map[int64]bool // routes already checked: no step was ready there before

	// permit allows the unit to hand out steps of the store, if permitted; asked is set once it was requested.
	permit    permit
	permitted bool
	asked     bool
}

// add takes a step that has become ready.
func (rs *readySteps) add(w Work) {
	if traitsOf(w.Task)&rs.u.e.kernel.holds != 0 {
		rs.entering = append(rs.entering, w)
		return
	}
	rs.steps = append(rs.steps, w)
}

// pass lets the steps that became ready go on: to waiting polls, or to the queue.
//
// It gives steps directly to waiting pollers, in the transaction that made them ready. This saves one commit before the
// handler starts, and the way through the queue. It does so only where no step was ready before, or where a claim under
// way is about to take all that were, so that no step is overtaken by more than a moment. The unit's steps are handed
// out lowest key first. A step that finds no poller, and each one if the unit queues, is counted in wake.queued, by
// which the commit wakes pollers to look for it.
func (rs *readySteps) pass(queues bool) error {
	if len(rs.entering) > 0 {
		entering := rs.entering
		rs.entering = nil
		free, err := rs.u.e.kernel.stepsReady(rs.u, entering)
		if err != nil {
			return err
		}
		rs.steps = append(rs.steps, free...)
	}
	if len(rs.steps) > 1 {
		slices.SortStableFunc(rs.steps, func(a, b Work) int { return cmp.Compare(a.Step.Key, b.Step.Key) })
	}
	if err := rs.u.e.kernel.stepsQueued(rs.u, rs.steps); err != nil {
		return err
	}
	var handOffs []handOff
	for _, w := range rs.steps {
		if !w.Step.OnRoute() {
			continue // moved on in the same transaction, or parked
		}
		rs.u.e.queue.becameReady(rs.u, w)
		to, err := rs.takerOf(w, queues)
		if err != nil {
			return err
		}
		if to == nil {
			rs.u.wake.queued[w.Step.RouteID]++
			continue
		}
		if err := rs.u.hand(w, to); err != nil {
			return err
		}
		to.promise(w.Step.Priority)
		handOffs = append(handOffs, handOff{w, to})
	}
	rs.steps = nil
	if len(handOffs) == 0 {
		return nil
	}
	return rs.deliver(handOffs)
}

// takerOf returns the poller that gets a ready step at once, nil if the step goes to the queue.
func (rs *readySteps) takerOf(w Work, queues bool) (*poller, error) {
	route := w.Step.RouteID
	if queues || !rs.handsOut() || rs.u.e.catalog.isClosed(route) || rs.u.e.catalog.limitsOn(route) != nil {
		return nil, nil
	}
	p, err := rs.waitingPoller(route, w.Step.Priority)
	if err == nil && p == nil {
		rs.setVacant(route, false)
	}
	return p, err
}

// handsOut reports whether the transaction may hand out steps of the store.
// A dispatcher may own the order of steps; then the store must not hand out any. The permit is valid for the unit.
func (rs *readySteps) handsOut() bool {
	if rs.asked {
		return rs.permitted
	}
	rs.asked = true
	rs.permit, rs.permitted = rs.u.e.queue.handsOut()
	return rs.permitted
}

// handOff is a step and the poller that receives it.
type handOff struct {
	Work
	to *poller
}

// waitingPoller returns a poller with room that may take a step of the route and level, or nil.
// Each reserved poller is given back at the end of the unit, with steps or without.
func (rs *readySteps) waitingPoller(route int64, level int) (*poller, error) {
	for _, p := range rs.pollers {
		if p.promises(level, rs.u.e.cfg.Scheduling.FairnessWindow) && rs.vacant[route] && p.serves(route) {
			return p, nil
		}
	}
	vacant, looked := rs.vacant[route]
	if looked && !vacant || !rs.u.e.waiters.awaited(route) {
		return nil, nil
	}
	if !looked {
		var err error
		if vacant, err = rs.u.tx.Vacant(rs.u.ctx, route); err != nil {
			return nil, err
		}
		if !vacant {
			vacant = rs.u.e.waiters.isEmptying(route)
		}
		if rs.setVacant(route, vacant); !vacant {
			return nil, nil
		}
	}
	p := rs.u.e.waiters.reserve(route)
	if p != nil {
		rs.pollers = append(rs.pollers, p)
	}
	return p, nil
}

// setVacant remembers whether a step was ready on a route before.
func (rs *readySteps) setVacant(route int64, vacant bool) {
	if rs.vacant == nil {
		rs.vacant = map[int64]bool{}
	}
	rs.vacant[route] = vacant
}

// deliver sends the pollers their steps. It reads what the leases need for all steps at once.
// A damaged step gives no lease; its poller may get another one.
func (rs *readySteps) deliver(handOffs []handOff) error {
	steps, works := make([]*task.Step, len(handOffs)), make([]Work, len(handOffs))
	for i, g := range handOffs {
		steps[i], works[i] = g.Step, g.Work
	}
	if err := rs.u.rows.readCheckpoints(works); err != nil {
		return err
	}
	if err := rs.u.rows.gatherAll(steps, rs.u.rows.parents); err != nil {
		return err
	}
	var bare []*task.Task
	for _, g := range handOffs {
		// a task that is not loaded is being submitted now, with its context
		if _, stored := rs.u.rows.tasks[g.Task.ID]; stored && g.Task.Context == nil {
			bare = append(bare, g.Task)
		}
	}
	if err := rs.u.rows.readContexts(bare); err != nil {
		return err
	}
	for _, g := range handOffs {
		l, whole, err := rs.u.lease(g.Work)
		if err != nil {
			return err
		}
		if whole {
			g.to.handed = append(g.to.handed, l)
		}
	}
	return nil
}

// releasePollers releases the pollers of a transaction that was not committed: they look for work again.
// What they were handed was never committed.
func (rs *readySteps) releasePollers() {
	for _, p := range rs.pollers {
		p.handed = nil
		close(p.wake)
	}
	rs.pollers = nil
}
