package engine

import (
	"cmp"
	"slices"

	"github.com/taskerhq/tasker/internal/task"
)

// handOff puts steps that have just become ready straight into the hands of
// waiting pollers, in the transaction that made them ready: one commit less
// until the handler starts, and no way through the queue. Only where nothing
// was ready before, or a claim under way is about to take all that was, so that
// nobody is overtaken by more than a moment; the steps at hand go lowest key first.
func (u *unit) handOff() error {
	if len(u.becameReady) > 1 {
		slices.SortStableFunc(u.becameReady, func(a, b Work) int { return cmp.Compare(a.Step.Key, b.Step.Key) })
	}
	var gifts []handOff
	for _, w := range u.becameReady {
		if w.Step.State != task.StepEnqueued {
			continue // moved on in the same transaction
		}
		if u.e.dispatch != nil {
			u.newOffers = append(u.newOffers, w)
		}
		if !u.handsOut() {
			u.queued[w.Step.RouteID]++
			continue
		}
		p, err := u.waitingPoller(w.Step.RouteID, w.Step.Priority)
		if err != nil {
			return err
		}
		if p == nil {
			u.queued[w.Step.RouteID]++
			u.vacant[w.Step.RouteID] = false
			continue
		}
		if err := u.hand(w, p); err != nil {
			return err
		}
		p.promise(w.Step.Priority)
		gifts = append(gifts, handOff{w, p})
	}
	u.becameReady = nil
	return u.deliverHandOffs(gifts)
}

// handsOut reports whether the transaction may hand out steps of the store.
func (u *unit) handsOut() bool {
	if u.askedOut {
		return u.mayHand
	}
	u.askedOut = true
	if u.e.coordinator == nil {
		u.mayHand = !u.e.dispatch.on() && !u.e.dispatch.mustPersist()
		return u.mayHand
	}
	out, ok := u.e.coordinator.gate.enter(u.e.instant())
	if ok {
		u.out, u.mayHand = out, out.at == fromStore
	}
	return u.mayHand
}

// handOff is a step and the poller whose it is now.
type handOff struct {
	Work
	to *poller
}

// waitingPoller returns a poller with room that may take a step of the route and level, or nil.
func (u *unit) waitingPoller(route int64, level int) (*poller, error) {
	for _, p := range u.pollers {
		if p.promises(level, u.e.cfg.Scheduling.FairnessWindow) && u.vacant[route] && p.serves(route) {
			return p, nil
		}
	}
	vacant, looked := u.vacant[route]
	if looked && !vacant || !u.e.waiters.awaited(route) {
		return nil, nil
	}
	if !looked {
		var err error
		if vacant, err = u.tx.Vacant(route); err != nil {
			return nil, err
		}
		if !vacant {
			vacant = u.e.waiters.isEmptying(route)
		}
		if u.vacant[route] = vacant; !vacant {
			return nil, nil
		}
	}
	p := u.e.waiters.reserve(route)
	if p != nil {
		u.pollers = append(u.pollers, p)
	}
	return p, nil
}

// deliverHandOffs tells the pollers of their steps.
func (u *unit) deliverHandOffs(gifts []handOff) error {
	steps := make([]*task.Step, len(gifts))
	for i, g := range gifts {
		steps[i] = g.Step
	}
	if err := u.gatherAll(steps, u.parents); err != nil {
		return err
	}
	var bare []*task.Task
	for _, g := range gifts {
		// a task that is not in hand is being submitted now, context and all
		if _, stored := u.tasks[g.Task.ID]; stored && g.Task.Context == nil {
			bare = append(bare, g.Task)
		}
	}
	if err := u.readContexts(bare); err != nil {
		return err
	}
	for _, g := range gifts {
		l, err := u.lease(g.Work)
		if err != nil {
			return err
		}
		if l != nil {
			g.to.handed = append(g.to.handed, *l)
		}
	}
	return nil
}

// readContexts completes tasks with their contexts.
func (u *unit) readContexts(tasks []*task.Task) error {
	if len(tasks) == 0 {
		return nil
	}
	ids := make([]task.ID, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	contexts, err := u.tx.Contexts(ids)
	if err != nil {
		return err
	}
	for i, t := range tasks {
		t.Context = contexts[i]
	}
	return nil
}

// releasePollers lets the pollers go that a transaction had in hand which came to
// nothing: they look for work themselves.
func (u *unit) releasePollers() {
	for _, p := range u.pollers {
		p.handed = nil
		close(p.wake)
	}
	u.pollers = nil
}
