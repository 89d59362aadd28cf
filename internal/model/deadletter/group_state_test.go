package deadletter_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func groupIn(s model.GroupState) *deadletter.Group {
	g := deadletter.NewGroup("shop", failure.Print{Version: 1, Type: "E", Message: "m"}, now)
	g.State, g.Failures = s, 10
	switch s {
	case model.GroupResolved:
		g.ResolvedAt, g.ResolvedIn, g.Resolutions = now+10, "1.2", 1
	case model.GroupIgnored:
		g.Ignore, g.IgnoredFrom = deadletter.Ignore{Count: 5, PerHour: 100, Until: now + 50}, 10
	}
	return g
}

func hintOf(err error) string {
	var e *task.Error
	errors.As(err, &e)
	return e.Hint
}

func TestGroupTransitions(t *testing.T) {
	t.Parallel()
	acts := map[model.GroupState]func(g *deadletter.Group) error{
		model.GroupOpen:         func(g *deadletter.Group) error { return g.Reopen(now + 20) },
		model.GroupAcknowledged: func(g *deadletter.Group) error { return g.Acknowledge(now + 20) },
		model.GroupResolved:     func(g *deadletter.Group) error { return g.Resolve("2.0", now+20) },
		model.GroupIgnored: func(g *deadletter.Group) error {
			return g.IgnoreFor(deadletter.Ignore{Count: 7}, now+20)
		},
	}
	for to, act := range acts {
		for _, from := range model.GroupStates {
			g := groupIn(from)
			before := fmt.Sprintf("%+v", *g)
			err := act(g)
			if slices.Contains(from.Next(), to) {
				if err != nil || g.State != to || g.StateAt != now+20 || g.Version != 2 {
					t.Errorf("from %s to %s: %v, %+v", from, to, err, g)
				}
				if to != model.GroupIgnored && (g.Ignore != deadletter.Ignore{} || g.IgnoredFrom != 0) {
					t.Errorf("from %s to %s it is ignored until %+v", from, to, g.Ignore)
				}
			} else if hintOf(err) != "" != (from == model.GroupResolved) {
				t.Errorf("from %s to %s: %+v", from, to, err)
			} else if task.CodeOf(err) != task.WrongState || fmt.Sprintf("%+v", *g) != before {
				t.Errorf("from %s to %s: %v, %+v", from, to, err, g)
			}
			merged := groupIn(from)
			merged.MergedInto = 9
			if err := act(merged); task.CodeOf(err) != task.WrongState || merged.State != from {
				t.Errorf("a merged group goes from %s to %s: %v", from, to, err)
			}
		}
	}
	if !model.GroupOpen.Can(model.GroupResolved) {
		t.Error("the table is wrong")
	}
}

func TestGroupTimeToResolve(t *testing.T) {
	t.Parallel()
	g := deadletter.NewGroup("shop", failure.Print{}, now)
	if g.OpenFor != 0 || g.Resolutions != 0 {
		t.Error("it was never resolved")
	}
	_ = g.Acknowledge(now.Add(time.Hour))
	_ = g.Resolve("1.0", now.Add(2*time.Hour))
	g.Failures = 3
	if e := g.Failed(deadletter.Delta{Group: g.ID, Failures: 1, At: now.Add(9 * time.Hour)}, 1,
		now.Add(10*time.Hour)); e !=
		deadletter.Regressed || !g.Regression || g.Regressions != 1 || g.State != model.GroupOpen {
		t.Fatalf("%q, %+v", e, g)
	}
	_ = g.Resolve("1.1", now.Add(14*time.Hour))
	if g.OpenFor != (2*3*time.Hour).Microseconds() || g.Resolutions != 2 || g.Regression || g.ResolvedIn != "1.1" ||
		g.ResolvedAt != now.Add(14*time.Hour) {
		t.Errorf("%+v", g)
	}
	_ = g.Reopen(now.Add(15 * time.Hour))
	if g.Regression || g.OpenedAt != now.Add(15*time.Hour) {
		t.Errorf("an operator opened it: %+v", g)
	}
}

func TestGroupFailed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state    model.GroupState
		failures int64
		delta    deadletter.Delta
		hour     int64
		want     deadletter.GroupEvent
	}{
		"Second": {model.GroupOpen, 5, deadletter.Delta{Failures: 4}, 4, deadletter.NoEvent},
		"OnlyCounts": {model.GroupResolved, 5, deadletter.Delta{OpenLetters: -1, At: now + 99}, 0,
			deadletter.NoEvent},
		"Acknowledged": {model.GroupAcknowledged, 15, deadletter.Delta{Failures: 4}, 4, deadletter.NoEvent},
		"Regression": {model.GroupResolved, 15, deadletter.Delta{Failures: 1, At: now + 11}, 1,
			deadletter.Regressed},
		"LateDelta":      {model.GroupResolved, 15, deadletter.Delta{Failures: 1, At: now + 10}, 1, deadletter.NoEvent},
		"Ignored":        {model.GroupIgnored, 14, deadletter.Delta{Failures: 4, At: now + 11}, 99, deadletter.NoEvent},
		"IgnoredCount":   {model.GroupIgnored, 15, deadletter.Delta{Failures: 1}, 1, deadletter.IgnoreEnded},
		"IgnoredPerHour": {model.GroupIgnored, 11, deadletter.Delta{Failures: 1}, 100, deadletter.IgnoreEnded},
	} {
		g := groupIn(c.state)
		g.Failures, c.delta.Group = c.failures, g.ID
		got := g.Failed(c.delta, c.hour, now+60)
		opened := c.want == deadletter.Regressed || c.want == deadletter.IgnoreEnded
		if got != c.want || opened && g.State != model.GroupOpen || !opened && g.State != c.state {
			t.Errorf("%s: %q, %+v", name, got, g)
		}
		again := groupIn(c.state)
		again.Failures, again.MergedInto = c.failures, 9
		if got := again.Failed(c.delta, c.hour, now+60); got != deadletter.NoEvent || again.State != c.state {
			t.Errorf("%s, merged: %q", name, got)
		}
	}
	shows := groupIn(model.GroupOpen)
	if e := shows.Failed(deadletter.Delta{Group: shows.ID + 1, Failures: 10}, 10, now); e != deadletter.NoEvent {
		t.Errorf("the first failures of a member: %q", e)
	}
}

func TestGroupElapsed(t *testing.T) {
	t.Parallel()
	g := groupIn(model.GroupIgnored)
	if g.Elapsed(now+49) != deadletter.NoEvent || g.Elapsed(now+50) != deadletter.IgnoreEnded ||
		g.State != model.GroupOpen || g.Elapsed(now+51) != deadletter.NoEvent {
		t.Errorf("%+v", g)
	}
	forever := groupIn(model.GroupOpen)
	_ = forever.IgnoreFor(deadletter.Ignore{}, now)
	forever.Failures = 1 << 40
	if forever.Elapsed(1<<60) != deadletter.NoEvent ||
		forever.Failed(deadletter.Delta{Failures: 1, At: now + 1}, 1<<40, now) != deadletter.NoEvent {
		t.Error("what has no bound has ended")
	}
}

func TestGroupIgnoresWhatItShows(t *testing.T) {
	t.Parallel()
	g := groupIn(model.GroupOpen)
	g.Shown = 3
	if err := g.IgnoreFor(deadletter.Ignore{Count: 5}, now); err != nil || g.IgnoredFrom != 13 {
		t.Fatalf("it is ignored from %d, %v", g.IgnoredFrom, err)
	}
	other := groupIn(model.GroupOpen)
	g.Shows(other)
	if g.IgnoredFrom != 23 {
		t.Errorf("with another one it is ignored from %d", g.IgnoredFrom)
	}
	g.ShowsNoMore(other)
	g.Shown = 7
	if e := g.Failed(deadletter.Delta{Failures: 0, At: now + 1}, 0, now); e != deadletter.NoEvent {
		t.Errorf("after 4 failures: %q", e)
	}
	g.Shown = 8
	if e := g.Failed(deadletter.Delta{Failures: 1, At: now + 1}, 0, now); e != deadletter.IgnoreEnded {
		t.Errorf("after 5 failures: %q", e)
	}
	open := groupIn(model.GroupOpen)
	open.Shows(other)
	if open.ShowsNoMore(other); open.IgnoredFrom != 0 {
		t.Errorf("a group that is not ignored: %+v", open)
	}
	if open.Shows(other); open.IgnoredFrom != 0 {
		t.Errorf("a group that is not ignored: %+v", open)
	}
}

func TestResolutionsMean(t *testing.T) {
	t.Parallel()
	if got := (deadletter.Resolutions{}).Mean(); got != 0 {
		t.Errorf("of none: %s", got)
	}
	if got := (deadletter.Resolutions{Times: 3, OpenFor: 6_000_000}).Mean(); got != 2*time.Second {
		t.Errorf("of three: %s", got)
	}
}

func TestGroupAssign(t *testing.T) {
	t.Parallel()
	g := groupIn(model.GroupOpen)
	owner, none, due := "ann", "", now
	if !g.Assign(deadletter.Assignment{Owner: &owner, DueAt: &due}) || g.Owner != "ann" || g.DueAt != now ||
		g.Version != 2 {
		t.Errorf("%+v", g)
	}
	if g.Assign(deadletter.Assignment{Owner: &owner}) || g.Version != 2 {
		t.Errorf("the same again: %+v", g)
	}
	if !g.Assign(deadletter.Assignment{Owner: &none}) || g.Owner != "" || g.DueAt != now {
		t.Errorf("nobody: %+v", g)
	}
}

func TestGroupMerge(t *testing.T) {
	t.Parallel()
	other := func(message string) *deadletter.Group {
		return deadletter.NewGroup("shop", failure.Print{Message: message}, now)
	}
	a, b := other("a"), other("b")
	if err := a.Merge(b, 0); err != nil || a.MergedInto != b.ID || a.Version != 2 || b.Version != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	abroad := deadletter.NewGroup("mill", failure.Print{}, now)
	for name, err := range map[string]error{
		"Twice": a.Merge(other("c"), 0), "IntoMerged": other("c").Merge(a, 0), "WithMembers": b.Merge(other("c"), 1),
	} {
		if task.CodeOf(err) != task.WrongState {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{"Itself": b.Merge(b, 0), "Abroad": b.Merge(abroad, 0)} {
		if task.CodeOf(err) != task.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.Unmerge(); err != nil || a.MergedInto != 0 || a.Version != 3 ||
		task.CodeOf(a.Unmerge()) != task.WrongState {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestGroupID(t *testing.T) {
	t.Parallel()
	p := failure.Print{Version: 1, Type: "E", Message: "m"}
	id := deadletter.GroupOf("shop", p)
	if id != deadletter.GroupOf("shop", p) || id <= 0 || id == deadletter.GroupOf("sho", p) {
		t.Errorf("the ID is %d", id)
	}
	// The stored form must never change.
	if id.String() != "2337e3ea693a3a76" {
		t.Errorf("the ID is %s", id)
	}
	if got, err := deadletter.ParseGroupID(id.String()); got != id || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for _, s := range []string{"", "0", "0000000000000000", "8000000000000000", "-000000000000001", "2337E3EA693A3A76",
		"6dd5f3cf3ab0d1b", "2337e3ea693a3a760", "+6dd5f3cf3ab0d1b", " 6dd5f3cf3ab0d1b", "0x00000000000001",
		"000000000000_001"} {
		if got, err := deadletter.ParseGroupID(s); err == nil {
			t.Errorf("%q is %d", s, got)
		}
	}
}
