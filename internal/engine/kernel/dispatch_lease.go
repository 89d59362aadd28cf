package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

// leaseFromStore leases the holds without a lease. If that fails, it tries some of them in ever smaller parts, as
// claimApart does, and returns the others; failed reports steps that rest.
func (g *dispatchQueue) leaseFromStore(calls []*poller, lists [][]taken, n int) (failed bool, err error) {
	names, all := make([]readyStep, 0, n), make(map[readyStep]asked, n)
	for i, list := range lists {
		for j := range list {
			if t := &list[j]; t.lease == nil {
				name := readyStep{t.Step, t.Route}
				names, all[name] = append(names, name), asked{t, calls[i]}
			}
		}
	}
	ctx, now, rows := context.Background(), g.e.Now(), g.e.due.claims
	lease := func(_ context.Context, some []readyStep) error { return g.leaseSome(some, all) }
	well, resting := rows.Pick(now, names, n, n)
	faults, err := g.e.claimResting(ctx, now, resting, lease)
	if err == nil && len(well) > 0 && lease(ctx, well) != nil {
		var others []due.Fault
		others, err = faultsOf(rows.Try(ctx, now, well[:min(len(well), claimPart)], lease))
		faults = append(faults, others...)
	}
	g.leaveResting(names, all)
	g.e.claimsStepped(faults)
	return len(faults) > 0, err
}

// asked is a hold, and the poll that it is for.
type asked struct {
	*taken
	by *poller
}

// leaveResting takes resting steps out of the dispatcher, so that it offers those behind them; the sweep puts them
// back after their rest. It returns the other holds that are not leased.
func (g *dispatchQueue) leaveResting(names []readyStep, all map[readyStep]asked) {
	var f dispatchUpdate
	var back []Hold
	for _, name := range names {
		switch t := all[name]; {
		case t.lease != nil || t.done:
		case g.e.due.claims.Has(name):
			f.gone = append(f.gone, Removal{Offered: t.Offered})
		default:
			back = append(back, t.Hold)
		}
	}
	if len(f.gone)+len(back) == 0 {
		return
	}
	g.outbox.Post(f)
	g.returnHolds([][]Hold{back})
	g.flush()
}

// leaseSome sets every lease anew, because the transaction may run again.
func (g *dispatchQueue) leaseSome(names []readyStep, all map[readyStep]asked) error {
	ids, of := make([]task.ID, len(names)), make(map[task.ID]Hold, len(names))
	at := make([]asked, len(names))
	for n, name := range names {
		ids[n], at[n], of[name.ID] = name.ID, all[name], all[name].Hold
	}
	var limits *claimLimits
	var surplus []Hold
	err := g.e.Write(context.Background(), "claim", func(u *Unit) error {
		surplus = nil
		limits = limitHolds(u, of)
		u.leases.holds = of
		works, err := u.Rows.Load(ids)
		if err != nil {
			return err
		}
		if err := u.prepareLeases(works); err != nil {
			return err
		}
		for n, w := range works {
			at[n].lease = nil
			// The store is ahead of the hold.
			if w.Step == nil || !w.Step.HeldUnder(at[n].Token) {
				u.leases.removals = append(u.leases.removals, Removal{Offered: at[n].Offered})
				continue
			}
			switch paused, err := pausedByTemplate(u, w.Step); {
			case err != nil:
				return err
			case paused: // given back, and parked by the hand-off
				if err := u.uncharged(w, task.Released, 0); err != nil {
					return err
				}
				continue
			}
			switch passed, err := limits.pass([]Work{w}); {
			case err != nil:
				return err
			case len(passed) == 0: // it keeps its place
				surplus = append(surplus, at[n].Hold)
				continue
			}
			if at[n].by.toQueue {
				if err := storeDispatch(u, w); err != nil {
					return err
				}
			}
			if err := beginGates(u, w); err != nil {
				return err
			}
			u.Observed.handed(w.Step, w.Step.WorkerNo, at[n].by.start)
			u.Observed.holdMoved(w)
			l, whole, err := u.lease(w)
			if err != nil {
				return err
			}
			if whole {
				at[n].lease = &l
			}
			limits.done([]Work{w})
		}
		return limits.save()
	})
	for _, t := range at {
		if t.done = err == nil; err != nil {
			t.lease = nil
		}
	}
	if err != nil {
		return err
	}
	limits.committed()
	if len(surplus) > 0 { // another process took the permits since passesLeft, or routes shared them
		g.returnHolds([][]Hold{surplus})
		g.flush()
	}
	return nil
}

func (u *Unit) prepareLeases(works []Work) error {
	var steps []*task.Step
	var bare []*task.Task
	for _, w := range works {
		if w.Step == nil || !w.Step.State.Leased() {
			continue
		}
		steps = append(steps, w.Step)
		if w.Task.Context == nil {
			bare = append(bare, w.Task)
		}
	}
	if err := u.Rows.ReadContexts(bare); err != nil {
		return err
	}
	if err := u.Rows.readCheckpoints(works); err != nil {
		return err
	}
	return u.Rows.gatherAll(steps, u.Rows.parents)
}
