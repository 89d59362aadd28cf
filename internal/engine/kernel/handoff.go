package kernel

import (
	"cmp"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// readySteps are the steps that became ready in a unit, and the polls that it serves. One goroutine uses it.
type readySteps struct {
	u *Unit

	steps    []Work
	entering []Work         // ready, but a feature may hold them back
	pollers  []*poller      // waiting polls that the unit serves
	vacant   map[int64]bool // routes checked to have had no ready step

	// permit allows handing out steps of the store, if permitted; asked: it was requested.
	permit    permit
	permitted bool
	asked     bool
}

func (rs *readySteps) Add(w Work) {
	if traitsOf(w.Task)&rs.u.E.Points.holds != 0 {
		rs.entering = append(rs.entering, w)
		return
	}
	rs.steps = append(rs.steps, w)
}

// Pass gives ready steps to waiting polls, or to the queue.
//
// A direct hand-off saves a commit and the way through the queue. It happens only where no step was ready before, or
// a claim under way is about to take all that were, so that no step is overtaken for long. wake.queued counts the
// other steps, so that the commit wakes pollers.
func (rs *readySteps) Pass(queues bool) error {
	if len(rs.entering) > 0 {
		entering := rs.entering
		rs.entering = nil
		free, err := rs.u.E.Points.stepsReady(rs.u, entering)
		if err != nil {
			return err
		}
		rs.steps = append(rs.steps, free...)
	}
	if len(rs.steps) > 1 {
		slices.SortStableFunc(rs.steps, func(a, b Work) int { return cmp.Compare(a.Step.Key, b.Step.Key) })
	}
	if err := rs.u.E.Points.stepsQueued(rs.u, rs.steps); err != nil {
		return err
	}
	var handOffs []handOff
	for _, w := range rs.steps {
		if !w.Step.OnRoute() {
			continue // moved on in this transaction, or parked
		}
		rs.u.E.Queue.becameReady(rs.u, w)
		to, err := rs.takerOf(w, queues)
		if err != nil {
			return err
		}
		if to == nil {
			rs.u.Wake.queued[w.Step.RouteID]++
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

func (rs *readySteps) takerOf(w Work, queues bool) (*poller, error) {
	route := w.Step.RouteID
	if queues || !rs.handsOut() || rs.u.E.Catalog.isClosed(route) || rs.u.E.Catalog.limitsOn(route) != nil {
		return nil, nil
	}
	p, err := rs.waitingPoller(route, w.Step.Priority)
	if err == nil && p == nil {
		rs.setVacant(route, false)
	}
	return p, err
}

// handsOut is false while a dispatcher owns the order of steps.
func (rs *readySteps) handsOut() bool {
	if rs.asked {
		return rs.permitted
	}
	rs.asked = true
	rs.permit, rs.permitted = rs.u.E.Queue.handsOut()
	return rs.permitted
}

type handOff struct {
	Work
	to *poller
}

// waitingPoller reserves a poller, until the end of the unit, or returns nil.
func (rs *readySteps) waitingPoller(route int64, level int) (*poller, error) {
	for _, p := range rs.pollers {
		if p.promises(level, rs.u.E.Cfg.Scheduling.FairnessWindow) && rs.vacant[route] && p.serves(route) {
			return p, nil
		}
	}
	vacant, looked := rs.vacant[route]
	if looked && !vacant || !rs.u.E.waiters.awaited(route) {
		return nil, nil
	}
	if !looked {
		var err error
		if vacant, err = rs.u.Tx.Vacant(rs.u.Ctx, route); err != nil {
			return nil, err
		}
		if !vacant {
			vacant = rs.u.E.waiters.isEmptying(route)
		}
		if rs.setVacant(route, vacant); !vacant {
			return nil, nil
		}
	}
	p := rs.u.E.waiters.reserve(route)
	if p != nil {
		rs.pollers = append(rs.pollers, p)
	}
	return p, nil
}

func (rs *readySteps) setVacant(route int64, vacant bool) {
	if rs.vacant == nil {
		rs.vacant = map[int64]bool{}
	}
	rs.vacant[route] = vacant
}

// deliver skips a damaged step; its poller may get another one.
func (rs *readySteps) deliver(handOffs []handOff) error {
	steps, works := make([]*task.Step, len(handOffs)), make([]Work, len(handOffs))
	for i, g := range handOffs {
		steps[i], works[i] = g.Step, g.Work
	}
	if err := rs.u.Rows.readCheckpoints(works); err != nil {
		return err
	}
	if err := rs.u.Rows.gatherAll(steps, rs.u.Rows.parents); err != nil {
		return err
	}
	var bare []*task.Task
	for _, g := range handOffs {
		// a task that is not loaded is being submitted, with its context
		if _, stored := rs.u.Rows.Tasks[g.Task.ID]; stored && g.Task.Context == nil {
			bare = append(bare, g.Task)
		}
	}
	if err := rs.u.Rows.ReadContexts(bare); err != nil {
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

// releasePollers is for a transaction that was not committed.
func (rs *readySteps) releasePollers() {
	for _, p := range rs.pollers {
		p.handed = nil
		close(p.wake)
	}
	rs.pollers = nil
}
