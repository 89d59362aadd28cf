package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func eventCases() []inboxCase {
	return []inboxCase{
		{"RoundTrip", eventRoundTrip},
		{"WithTransaction", eventsWithTransaction},
		{"Purge", eventPurge},
		{"LostSource", lostSource},
		{"NoticedGroup", noticedGroup},
	}
}

func (f *inboxFixture) event(n int) deadletter.Event {
	return deadletter.Event{ID: f.id(), Kind: deadletter.EventRedrive, Namespace: "default",
		At: f.now.Add(time.Duration(n) * time.Second), Object: "o", From: "running", To: "halted", Cause: "c", Title: "t",
		Where: "w", Failures: 1, Hour: 2, Usual: 3.5, Total: 4, Decided: 5, Wave: 6,
		Counts: &model.ItemCounts{Pending: 1, Sending: 2, Sent: 3, Returned: 4, Completed: 5, Failed: 6, Skipped: 7,
			Uncertain: 8}, Replay: &deadletter.ReplayNews{Source: "s", Topic: "t", Into: deadletter.ReplayIntoTasks, Left: 7,
			Counts: model.ReplayCounts{Letters: 1, Tasks: 2, Known: 3, Gone: 4}}}
}

func (f *inboxFixture) waiting(limit int) []deadletter.Event {
	f.Helper()
	list, err := f.inbox.WaitingEvents(f.Context(), limit)
	f.must(err)
	return list
}

func eventRoundTrip(f *inboxFixture) {
	a, b, c := f.event(1), f.event(2), deadletter.Event{ID: f.id(), Kind: deadletter.EventLost, At: f.now}
	b.Title, b.Cause = "a\x00b\xff", "a\x00"
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.inbox.AddEvents(ctx, tx, []deadletter.Event{a, b, c})
	})
	b.Title, b.Cause = "a\uFFFDb\uFFFD", "a\uFFFD"
	f.same("waiting events", f.waiting(10), []deadletter.Event{a, b, c})
	f.same("the first of them", f.waiting(1), []deadletter.Event{a})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.inbox.EventsSubmitted(ctx, tx, []task.ID{a.ID, c.ID})
	})
	f.same("events that wait still", f.waiting(10), []deadletter.Event{b})
	got, err := f.inbox.FindEvent(f.Context(), a.ID)
	f.must(err)
	f.same("FindEvent", got, &a)
	none, err := f.inbox.FindEvent(f.Context(), f.id())
	f.must(err)
	if none != nil {
		f.Errorf("FindEvent of an unknown ID returned %v", none)
	}
}

// An event is stored if and only if its change is.
func eventsWithTransaction(f *inboxFixture) {
	e, gone := f.event(1), errors.New("given up")
	err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
		f.must(f.inbox.AddEvents(ctx, tx, []deadletter.Event{e}))
		return gone
	})
	if !errors.Is(err, gone) || len(f.waiting(10)) != 0 {
		f.Errorf("%v; an event of a transaction that was rolled back waits", err)
	}
}

func eventPurge(f *inboxFixture) {
	old, older, young := f.event(10), f.event(5), f.event(20)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.inbox.AddEvents(ctx, tx, []deadletter.Event{old, older, young})
	})
	purge := func(limit, want int) {
		f.Helper()
		f.write(func(ctx context.Context, tx engine.Tx) error {
			n, err := f.inbox.PurgeEvents(ctx, tx, f.now.Add(15*time.Second), limit)
			f.same("purged events", n, want)
			return err
		})
	}
	purge(1, 1)
	f.same("after the first", f.waiting(10), []deadletter.Event{old, young})
	purge(10, 1)
	purge(10, 0)
	f.same("left", f.waiting(10), []deadletter.Event{young})
}

// A source is marked once, and a change of its settings keeps the mark.
func lostSource(f *inboxFixture) {
	s := &deadletter.Source{Namespace: "default", Name: "orders", Driver: "redis", Version: 1}
	f.saveSource(s)
	mark := func(name string, at task.Instant, why string, want bool) {
		f.Helper()
		f.write(func(ctx context.Context, tx engine.Tx) error {
			changed, err := f.inbox.MarkSource(ctx, tx, "default", name, at, why)
			f.same("changed", changed, want)
			return err
		})
	}
	mark("orders", 0, "", false)
	mark("none", f.now, "x", false)
	mark("orders", f.now, "refused\x00", true)
	mark("orders", f.now+1, "again", false)
	s.Paused, s.Version = true, 2
	f.saveSource(s)
	s.LostAt, s.LostFor = f.now, "refused\uFFFD"
	find := func() {
		f.Helper()
		got, err := f.inbox.FindSource(f.Context(), "default", "orders")
		f.must(err)
		f.same("FindSource", got, s)
	}
	find()
	mark("orders", 0, "", true)
	s.LostAt, s.LostFor = 0, ""
	find()
}

// The noticed state of a group is saved, and resolution times are summed by namespace.
func noticedGroup(f *inboxFixture) {
	a := f.group(1, nil)
	b, c := f.group(2, nil), f.group(3, func(g *deadletter.Group) { g.Namespace = "mill" })
	f.addGroups(a, b, c, f.group(4, nil))
	a.ToldAt, a.BurstAt, a.OpenFor, a.Resolutions = f.now, f.now+1, 10_000_000, 2
	b.OpenFor, b.Resolutions = 20_000_000, 1
	c.OpenFor, c.Resolutions = 7_000_000, 1
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for _, g := range []*deadletter.Group{a, b, c} {
			f.must(f.inbox.SaveGroup(ctx, tx, g))
		}
		return nil
	})
	f.same("saved group", f.findGroup(1), a)
	for namespace, want := range map[string]deadletter.Resolutions{"default": {Times: 3, OpenFor: 30_000_000},
		"mill": {Times: 1, OpenFor: 7_000_000}, "": {Times: 4, OpenFor: 37_000_000}, "none": {}} {
		got, err := f.inbox.Resolutions(f.Context(), namespace)
		f.must(err)
		f.same("resolutions in "+namespace, got, want)
	}
}
