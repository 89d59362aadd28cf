package deadletter_test

import (
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

const hour = task.Instant(time.Hour / time.Microsecond)

func TestGroupFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change     func(g *deadletter.Group, d *deadletter.Delta)
		told, news bool
	}{
		"First":       {func(*deadletter.Group, *deadletter.Delta) {}, true, true},
		"Second":      {func(g *deadletter.Group, _ *deadletter.Delta) { g.ToldAt = 1 }, true, false},
		"NoFailure":   {func(_ *deadletter.Group, d *deadletter.Delta) { d.Failures = 0 }, false, false},
		"Moved":       {func(_ *deadletter.Group, d *deadletter.Delta) { d.Failures = -1 }, false, false},
		"OfAMember":   {func(_ *deadletter.Group, d *deadletter.Delta) { d.Group++ }, false, false},
		"Merged":      {func(g *deadletter.Group, _ *deadletter.Delta) { g.MergedInto = 9 }, true, false},
		"AnHourOld":   {func(_ *deadletter.Group, d *deadletter.Delta) { d.At = now - hour }, true, true},
		"OverAnHour":  {func(_ *deadletter.Group, d *deadletter.Delta) { d.At = now - hour - 1 }, true, false},
		"OfTheFuture": {func(_ *deadletter.Group, d *deadletter.Delta) { d.At = now + hour }, true, true},
	} {
		g := groupIn(model.GroupOpen)
		d := deadletter.Delta{Group: g.ID, Failures: 1, At: now}
		c.change(g, &d)
		if got := g.First(d, now); got != c.news || (g.ToldAt != 0) != c.told {
			t.Errorf("%s: %v, told at %d", name, got, g.ToldAt)
		}
	}
}

func TestGroupBurst(t *testing.T) {
	t.Parallel()
	begin := now - now%hour
	at := begin + hour/2
	// steady fails n times in each hour from first hours ago to the previous one.
	steady := func(first, n int) (list []deadletter.Hour) {
		for i := first; i > 0; i-- {
			list = append(list, deadletter.Hour{At: begin - task.Instant(i)*hour, Failures: int64(n)})
		}
		return list
	}
	with := func(list []deadletter.Hour, n int) []deadletter.Hour {
		return append(list, deadletter.Hour{At: begin, Failures: int64(n)})
	}
	old := func(*deadletter.Group) {}
	for name, c := range map[string]struct {
		change func(g *deadletter.Group)
		hours  []deadletter.Hour
		hour   int64
		usual  float64
		burst  bool
	}{
		"TenTimes":      {old, with(steady(24, 5), 50), 50, 5, true},
		"LessThanTen":   {old, with(steady(24, 6), 59), 59, 6, false},
		"LessThan50":    {old, with(nil, 49), 49, 0, false},
		"OverADayAgo":   {old, with(steady(25, 5), 50), 50, 5, true},
		"TwoParts":      {old, append(with(nil, 30), deadletter.Hour{At: begin + 1, Failures: 20}), 50, 0, true},
		"Young":         {func(g *deadletter.Group) { g.FirstAt = begin - 2*hour }, with(steady(2, 6), 60), 60, 6, true},
		"YoungInAnHour": {func(g *deadletter.Group) { g.FirstAt = begin - hour - 1 }, with(steady(2, 6), 60), 60, 6, true},
		"AnHourOld":     {func(g *deadletter.Group) { g.FirstAt = at - hour }, with(steady(1, 6), 60), 60, 6, true},
		"Younger":       {func(g *deadletter.Group) { g.FirstAt = at - hour + 1 }, with(nil, 60), 0, 0, false},
		"Few":           {func(g *deadletter.Group) { g.Failures = 49 }, with(nil, 60), 0, 0, false},
		"Just":          {func(g *deadletter.Group) { g.Failures = 50 }, with(nil, 60), 60, 0, true},
		"Merged":        {func(g *deadletter.Group) { g.MergedInto = 1 }, with(nil, 60), 0, 0, false},
		"Acknowledged":  {func(g *deadletter.Group) { g.State = model.GroupAcknowledged }, with(nil, 60), 60, 0, true},
		"Resolved":      {func(g *deadletter.Group) { g.State = model.GroupResolved }, with(nil, 60), 0, 0, false},
		"Ignored":       {func(g *deadletter.Group) { g.State = model.GroupIgnored }, with(nil, 60), 0, 0, false},
		"SixHoursSince": {func(g *deadletter.Group) { g.BurstAt = at - 6*hour }, with(nil, 60), 60, 0, true},
		"TooSoon":       {func(g *deadletter.Group) { g.BurstAt = at - 6*hour + 1 }, with(nil, 60), 0, 0, false},
	} {
		g := groupIn(model.GroupOpen)
		g.Failures, g.FirstAt = 1000, begin-100*hour
		c.change(g)
		before := g.BurstAt
		n, usual, burst := g.Burst(c.hours, at)
		if n != c.hour || usual != c.usual || burst != c.burst {
			t.Errorf("%s: %d in this hour, usually %v, %v", name, n, usual, burst)
		}
		if burst && g.BurstAt != at || !burst && g.BurstAt != before {
			t.Errorf("%s: the burst is at %d", name, g.BurstAt)
		}
	}
}

func TestHook(t *testing.T) {
	t.Parallel()
	var types []string
	for _, kind := range deadletter.EventKinds {
		for _, to := range []string{"open", string(model.RedriveHalted), string(model.ReplayFailed)} {
			e := deadletter.Event{Kind: kind, Namespace: "shop", To: to}
			if hook := e.Hook(); hook != "" && !slices.Contains(types, hook) {
				types = append(types, hook)
			}
			special := kind == deadletter.EventRedrive && to == "halted" || kind == deadletter.EventReplay && to == "failed"
			if hook := e.Hook(); hook != "" && hook != string(kind) && !special {
				t.Errorf("%s to %s is %q", kind, to, hook)
			}
			e.Namespace = deadletter.SystemNamespace
			if e.Hook() != "" {
				t.Errorf("%s of the system is %q", kind, e.Hook())
			}
		}
	}
	slices.Sort(types)
	if want := slices.Sorted(slices.Values(deadletter.HookTypes)); !slices.Equal(types, want) {
		t.Errorf("the types are %q, want %q", types, want)
	}
}

func TestHappened(t *testing.T) {
	t.Parallel()
	r := redriveIn(model.RedriveRunning)
	r.Behind = 7
	if e := deadletter.RedriveHappened(r, "", nil, now); e.Decided != 7 || e.Counts != nil {
		t.Errorf("without counts: %+v", e)
	}
	counts := &model.ItemCounts{Pending: 100, Sending: 50, Sent: 1, Returned: 2, Completed: 4, Failed: 8, Skipped: 16}
	if e := deadletter.RedriveHappened(r, "", counts, now); e.Decided != 31 || e.Counts != counts {
		t.Errorf("with counts: %+v", e)
	}
	s := &deadletter.Source{Namespace: "shop", Name: "q"}
	if e := deadletter.SourceHappened(s, "gone", now); e.Kind != deadletter.EventLost || e.Cause != "gone" {
		t.Errorf("lost: %+v", e)
	}
	if e := deadletter.SourceHappened(s, "", now); e.Kind != deadletter.EventFound || e.Cause != "" {
		t.Errorf("found: %+v", e)
	}
}

func TestPrintOfCase(t *testing.T) {
	t.Parallel()
	title := func(r failure.Report, where string) string { return failure.PrintOf(r, "", where).Title() }
	for want, c := range map[string]struct {
		c       task.Case
		handler string
	}{
		title(failure.Report{Type: string(task.ReasonStaleness)}, "bill"): {task.Case{Reason: task.ReasonStaleness}, ""},
		title(failure.Report{Code: "E1"}, "bill"):                         {task.Case{Fingerprint: "E1"}, ""},
		title(failure.Report{Message: "no"}, "pay"):                       {task.Case{Message: "no"}, "pay"},
	} {
		if got := deadletter.PrintOfCase(&c.c, c.handler, "bill", "").Title(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
