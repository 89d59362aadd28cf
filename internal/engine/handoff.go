package engine

import (
	"cmp"
	"slices"

	"github.com/taskerhq/tasker/internal/task"
)

// handOff puts steps that have just become ready straight into the hands of
// waiting pollers, in the transaction that made them ready: one commit less
// until the handler starts, and no way through the queue. Only where nothing
// was ready before, so that nobody is overtaken; the steps at hand go lowest
// key first.
func (u *unit) handOff() error {
	if len(u.readied) > 1 {
		slices.SortStableFunc(u.readied, func(a, b Work) int { return cmp.Compare(a.Step.Key, b.Step.Key) })
	}
	for _, w := range u.readied {
		if w.Step.State != task.StepEnqueued {
			continue // moved on in the same transaction
		}
		p, err := u.waiting(w.Step.RouteID)
		if err != nil {
			return err
		}
		if p == nil {
			u.queued[w.Step.RouteID]++
			u.vacant[w.Step.RouteID] = false
			continue
		}
		if err := u.give(w, p); err != nil {
			return err
		}
	}
	u.readied = nil
	return nil
}

// waiting returns a poller with room that may take a step of the route, or nil.
func (u *unit) waiting(route int64) (*poller, error) {
	for _, p := range u.pollers {
		if len(p.handed) < p.capacity && slices.Contains(p.routes, route) && u.vacant[route] {
			return p, nil
		}
	}
	vacant, looked := u.vacant[route]
	if looked && !vacant || !u.e.hub.awaited(route) {
		return nil, nil
	}
	if !looked {
		var err error
		if vacant, err = u.tx.Vacant(route); err != nil {
			return nil, err
		}
		if u.vacant[route] = vacant; !vacant {
			return nil, nil
		}
	}
	p := u.e.hub.reserve(route)
	if p != nil {
		u.pollers = append(u.pollers, p)
	}
	return p, nil
}

func (u *unit) give(w Work, p *poller) error {
	if err := u.hand(w.Step, p); err != nil {
		return err
	}
	// a task that is not in hand is being submitted now, context and all
	if _, stored := u.tasks[w.Task.ID]; stored && w.Task.Context == nil {
		context, err := u.tx.Context(w.Task.ID)
		if err != nil {
			return err
		}
		w.Task.Context = context
	}
	l, err := u.lease(w)
	if err != nil {
		return err
	}
	p.handed = append(p.handed, l)
	return nil
}

// release lets the pollers go that a transaction had in hand which came to
// nothing: they look for work themselves.
func (u *unit) release() {
	for _, p := range u.pollers {
		p.handed = nil
		close(p.wake)
	}
	u.pollers = nil
}
