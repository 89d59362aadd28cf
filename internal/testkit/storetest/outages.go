package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func outageCases() []testCase {
	return []testCase{
		{"CountedByRouteAndFingerprint", burstsCounted},
		{"CountsDropped", burstsDropped},
		{"OneOpenForARoute", outageOnce},
		{"ListedNewestFirst", outagesListed},
		{"DroppedOnceClosed", outagesDropped},
	}
}

func (f *fixture) burst(route, group int64, net int, now task.Instant) (b task.Burst) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		b, err = f.store.BurstStore().AddBurst(ctx, tx, route, group, net, now, time.Second)
		return err
	})
	return b
}

func burstsCounted(f *fixture) {
	want := task.Burst{}
	for i, step := range []struct {
		net int
		at  task.Instant
	}{{0, 0}, {3, 0}, {2, 5}, {-4, 6}, {-9, 7}, {2, 8}, {1, 8 + 1_000_000}, {1, 9 + 1_000_000}, {5, 3}, {-1, 3}} {
		now := f.now + step.at
		want = want.Add(step.net, now, time.Second)
		want.RouteID, want.Group = 7, -3
		f.burst(7, 4, 1, now) // another fingerprint, and another route
		f.burst(8, -3, 1, now)
		if got := f.burst(7, -3, step.net, now); got != want {
			f.Errorf("step %d: counted %+v, want %+v", i, got, want)
		}
	}
}

func burstsDropped(f *fixture) {
	for i := range int64(4) {
		f.burst(i, 1, 1, f.now+task.Instant(i))
	}
	f.burst(3, 2, 1, f.now+3)
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.BurstStore().ClearBursts(ctx, tx, 3) })
	dropped := func(before task.Instant, limit int) (n int) {
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			n, err = f.store.BurstStore().DropBursts(ctx, tx, before, limit)
			return err
		})
		return n
	}
	f.equal("bounded", dropped(f.now+2, 1), 1)
	f.equal("the rest", dropped(f.now+2, 9), 1)
	f.equal("none of the young ones", dropped(f.now+2, 9), 0)
	f.equal("of the route", f.burst(3, 1, 2, f.now+3).Failures, 2)
	f.equal("left", f.burst(2, 1, 2, f.now+3).Failures, 3)
}

func (f *fixture) outage(route int64, namespace string) *task.Outage {
	return &task.Outage{ID: f.store.IDs().Take(f.now.Time(), 1), RouteID: route, Namespace: namespace, Handler: "charge",
		Capabilities: "gpu\nssd", Group: -5, Title: "ä \u2028 \"'\n", Failures: 20, Since: f.now - 1, OpenedAt: f.now,
		Version: 1, NextProbeAt: f.now + 9, ProbeEvery: time.Minute}
}

// addOutage stores a new outage, and reports whether its route had no open one.
func (f *fixture) addOutage(o *task.Outage) (added bool) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		added, err = f.store.OutageStore().AddOutage(ctx, tx, o)
		return err
	})
	return added
}

func (f *fixture) saveOutage(o *task.Outage) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.OutageStore().SaveOutage(ctx, tx, o) })
}

func outageOnce(f *fixture) {
	o := f.outage(7, "shop")
	f.equal("added", f.addOutage(o), true)
	f.equal("a second one", f.addOutage(f.outage(7, "shop")), false)
	f.equal("of another route", f.addOutage(f.outage(8, "shop")), true)
	o.Version, o.Probes, o.ProbeNo, o.ProbeToken, o.Spared = 2, 3, 4, 5, 6
	o.ProbeTask, o.ProbeStep = f.store.IDs().Take(f.now.Time(), 1), f.store.IDs().Take(f.now.Time(), 1)
	o.ProbeAt, o.ProbeUntil, o.LastProbe, o.LastProbeAt = f.now, f.now+1, task.ProbeFailed, f.now-7
	f.saveOutage(o)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.store.OutageStore().OpenOutage(ctx, tx, 7)
		f.must(err)
		f.equal("open", got, o)
		got, err = f.store.OutageStore().LockOutage(ctx, tx, o.ID)
		f.must(err)
		f.equal("locked", got, o)
		got, err = f.store.OutageStore().OpenOutage(ctx, tx, 9)
		f.equal("none", got, (*task.Outage)(nil))
		return err
	})
	o.Close(f.now+2, "ann", "the bank\u2028is back")
	f.saveOutage(o)
	got, err := f.store.OutageStore().FindOutage(f.Context(), o.ID)
	f.must(err)
	f.equal("closed", got, o)
	got, err = f.store.OutageStore().FindOutage(f.Context(), f.store.IDs().Take(f.now.Time(), 1))
	f.must(err)
	f.equal("unknown", got, (*task.Outage)(nil))
	again := f.outage(7, "shop")
	again.Title = strings.Repeat("x", 240)
	f.equal("again", f.addOutage(again), true)
}

// listed returns the routes of outages in list order.
func (f *fixture) listed(filter engine.OutageFilter) (routes []int64) {
	f.Helper()
	list, err := f.store.OutageStore().Outages(f.Context(), filter)
	f.must(err)
	for _, o := range list {
		routes = append(routes, o.RouteID)
	}
	return routes
}

func outagesListed(f *fixture) {
	var third task.ID
	for i, namespace := range []string{"a", "b", "a", "c"} {
		o := f.outage(int64(i), namespace)
		if i == 2 {
			third = o.ID
		}
		f.addOutage(o)
		if i%2 == 1 {
			o.Close(f.now, "ann", "")
			f.saveOutage(o)
		}
	}
	f.equal("all", f.listed(engine.OutageFilter{Limit: 9}), []int64{3, 2, 1, 0})
	f.equal("a page", f.listed(engine.OutageFilter{Limit: 2}), []int64{3, 2})
	f.equal("the next", f.listed(engine.OutageFilter{Below: third, Limit: 2}), []int64{1, 0})
	f.equal("open", f.listed(engine.OutageFilter{State: engine.OutageOpen, Limit: 9}), []int64{2, 0})
	f.equal("closed", f.listed(engine.OutageFilter{State: engine.OutageClosed, Limit: 9}), []int64{3, 1})
	f.equal("of namespaces", f.listed(engine.OutageFilter{Namespaces: []string{"a", "c"}, Limit: 9}), []int64{3, 2, 0})
	none := engine.OutageFilter{State: engine.OutageOpen, Namespaces: []string{"c"}, Limit: 9}
	f.equal("open ones of one", f.listed(none), []int64(nil))
}

func outagesDropped(f *fixture) {
	for i := range task.Instant(4) {
		o := f.outage(int64(i), "shop")
		f.addOutage(o)
		if i > 0 {
			o.Close(i, "ann", "")
			f.saveOutage(o)
		}
	}
	dropped := func(before task.Instant, limit int) (n int) {
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			n, err = f.store.OutageStore().DropOutages(ctx, tx, before, limit)
			return err
		})
		return n
	}
	f.equal("bounded", dropped(3, 1), 1)
	f.equal("the rest", dropped(3, 9), 1)
	f.equal("left", f.listed(engine.OutageFilter{Limit: 9}), []int64{3, 0})
}
