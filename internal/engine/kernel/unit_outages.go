package kernel

import (
	"cmp"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// outageOutcomes is a unit's effect on outages. A lease that ends may be a probe's.
type outageOutcomes struct {
	u *Unit

	failures  []burstFailure
	successes map[int64]int
	ended     []endedLease // on routes with an open outage
	failing   map[*task.Step]bool

	changed bool
}

var outageSlot = NewSlot(func(u *Unit) *outageOutcomes { return &outageOutcomes{u: u} })

type burstFailure struct {
	route, group int64
	title        string
}

type endedLease struct {
	route  int64
	step   task.ID
	token  int64
	how    task.ProbeResult
	spared bool
}

func OutagesFeature() Feature {
	return Feature{
		Name: "outages",
		Of:   anything,
		Moved: func(u *Unit, w Work, from task.StepState) {
			if from.Leased() && !w.Step.State.Leased() {
				outageLeaseEnded(u, w)
			}
		},
		ended: func(u *Unit, w Work, e ending) (bool, error) {
			switch {
			case e.outcome == task.Completed:
				outageSucceeded(u, w.Step)
			case e.failure != nil:
				return outageFailed(u, w, e)
			}
			return false, nil
		},
		Stages: []Stage{{rankOutages, "outages", []string{"outages", "acts", "meta"},
			outageSlot.Save((*outageOutcomes).save)}},
		After: []FollowUp{{afterOutages, "outages", outageSlot.After((*outageOutcomes).publish)}},
	}
}

func outageSucceeded(u *Unit, s *task.Step) {
	if o := &u.E.outages; o.failing.Load() == 0 || !o.counts(s.RouteID) {
		return
	}
	oo := outageSlot.Of(u)
	if oo.successes == nil {
		oo.successes = map[int64]int{}
	}
	oo.successes[s.RouteID]++
}

// outageFailed reports whether the failure is that of the route's open outage, which costs no attempt.
func outageFailed(u *Unit, w Work, e ending) (spared bool, err error) {
	o := u.E.Catalog.outageOf(w.Step.RouteID)
	if o != nil {
		oo := outageSlot.Of(u)
		if oo.failing == nil {
			oo.failing = map[*task.Step]bool{}
		}
		oo.failing[w.Step] = false
	}
	counted := (e.outcome == task.Failed || e.outcome == task.TimedOut) && e.failure.Class != failure.Worker &&
		e.def.Namespace != deadletter.SystemNamespace
	if !counted || o == nil && !u.E.outages.on() {
		return false, nil
	}
	print, err := outagePrint(u, w, e.def, e.failure)
	if err != nil {
		return false, err
	}
	oo := outageSlot.Of(u)
	switch group := int64(deadletter.GroupOf(e.def.Namespace, print)); {
	case o == nil:
		oo.failures = append(oo.failures, burstFailure{w.Step.RouteID, group, print.Title()})
		return false, nil
	// opened by a node of an older version
	case o.Group == group, o.Group == int64(deadletter.GroupBefore(e.def.Namespace, print)):
		oo.failing[w.Step] = true
		return true, nil
	}
	return false, nil
}

// outagePrint returns the fingerprint of the failure if it were final.
func outagePrint(u *Unit, w Work, t *task.Template, f *task.Failure) (failure.Print, error) {
	spec := t.Spec(w.Step)
	c := &task.Case{Reason: task.ReasonMaxRetries, Fingerprint: f.Fingerprint(), Message: MessageOfCase(f),
		Class: f.Class, Retryable: f.Retryable && f.Class != failure.Logic, Step: spec.Name}
	print := deadletter.PrintOfCase(c, spec.Handler, t.Name, f.Stack)
	return PrintBy(u, t.Namespace, print, func() deadletter.Facts {
		return deadletter.FactsOfCase(c, spec.Handler, t.Name, print)
	})
}

func outageLeaseEnded(u *Unit, w Work) {
	if u.E.Catalog.outageOf(w.Step.RouteID) == nil {
		return
	}
	oo := outageSlot.Of(u)
	l := endedLease{route: w.Step.RouteID, step: w.Step.ID, token: w.Step.Token, how: task.ProbeLost}
	spared, failed := oo.failing[w.Step]
	switch {
	case failed:
		l.how, l.spared = task.ProbeFailed, spared
	case w.Step.State == task.StepComplete:
		l.how = task.ProbeSucceeded
	}
	delete(oo.failing, w.Step)
	oo.ended = append(oo.ended, l)
}

// save follows steps and tasks: all transactions lock outages last.
func (oo *outageOutcomes) save() error {
	if len(oo.ended) == 0 {
		return nil
	}
	slices.SortStableFunc(oo.ended, func(a, b endedLease) int { return cmp.Compare(a.route, b.route) })
	for at := 0; at < len(oo.ended); {
		route, to := oo.ended[at].route, at
		for to < len(oo.ended) && oo.ended[to].route == route {
			to++
		}
		if err := oo.saveRoute(route, oo.ended[at:to]); err != nil {
			return err
		}
		at = to
	}
	return nil
}

// saveRoute finds the probe in the outage's row: this process may not have read it yet.
func (oo *outageOutcomes) saveRoute(route int64, ended []endedLease) error {
	e, u := oo.u.E, oo.u
	o, err := e.outageStore.OpenOutage(u.Ctx, u.Tx, route)
	if err != nil || o == nil {
		return err
	}
	changed := false
	for _, l := range ended {
		if l.spared {
			o.Spared++
			changed = true
		}
		if !o.IsProbe(l.step, l.token) {
			continue
		}
		changed = true
		o.Probed(l.how, u.Now, e.outages.rules())
		if l.how == task.ProbeSucceeded {
			return oo.close(o, System, "a probe succeeded")
		}
	}
	if !changed {
		return nil
	}
	return oo.store(o)
}

func (oo *outageOutcomes) store(o *task.Outage) error {
	u := oo.u
	o.Version++
	oo.changed = true
	if err := u.E.outageStore.SaveOutage(u.Ctx, u.Tx, o); err != nil {
		return err
	}
	return u.E.closuresChanged(u)
}

func (oo *outageOutcomes) close(o *task.Outage, actor, reason string) error {
	o.Close(oo.u.Now, actor, reason)
	if err := oo.store(o); err != nil {
		return err
	}
	if err := oo.act(task.ActCloseOutage, o, actor, reason); err != nil {
		return err
	}
	return TellEvent(oo.u, deadletter.OutageHappened(deadletter.EventOutageClosed, o, oo.u.Now))
}

// act follows the unit's saved records.
func (oo *outageOutcomes) act(kind string, o *task.Outage, actor, reason string) error {
	u := oo.u
	a, err := outageAct(kind, o, actor, reason, u.Now)
	if err != nil {
		return err
	}
	SignAct(&a, u.Key)
	return u.E.ActStore.AddActs(u.Ctx, u.Tx, []task.Act{a})
}

// TellEvent stores an event for webhooks, and sends it to listeners after the commit.
func TellEvent(u *Unit, ev deadletter.Event) error {
	if u.E.hooks != nil {
		if err := u.E.hooks.StoreEvents(u.Ctx, u.Tx, ev); err != nil {
			return err
		}
	}
	if u.Observed.recording {
		u.Observed.changes = append(u.Observed.changes, feed.InboxChange(ev))
	}
	return nil
}
