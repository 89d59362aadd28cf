package task_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/task"
)

var promotions = []task.Promotion{{Level: 75, After: 20 * time.Minute}, {Level: 50, After: 10 * time.Minute}}

func orders() map[string]task.Scheduling {
	return map[string]task.Scheduling{
		"Strict":    {Mode: task.Strict, MaxWait: time.Hour},
		"Unbounded": {},
		"Promote":   {Mode: task.Promote, MaxWait: time.Hour, Promotions: promotions},
		"Aging":     {Mode: task.Aging, AgingWeight: 24 * time.Second, MaxWait: time.Hour},
		"AgingSlow": {Mode: task.Aging, AgingWeight: 2 * time.Minute, MaxWait: time.Hour},
	}
}

func TestKeyAt(t *testing.T) {
	t.Parallel()
	const ready = now
	for _, c := range []struct {
		order  string
		level  int
		waited time.Duration
		want   int64
	}{
		{"Strict", 25, 0, task.StrictKey(25, ready)},
		{"Strict", 25, time.Hour - time.Microsecond, task.StrictKey(25, ready)},
		{"Strict", 25, time.Hour, task.StrictKey(100, ready)},
		{"Unbounded", 25, 100 * time.Hour, task.StrictKey(25, ready)},
		{"Promote", 25, 10*time.Minute - 1000, task.StrictKey(25, ready)},
		{"Promote", 25, 10 * time.Minute, task.StrictKey(50, ready)},
		{"Promote", 25, 20 * time.Minute, task.StrictKey(75, ready)},
		{"Promote", 50, 10 * time.Minute, task.StrictKey(50, ready)},
		{"Promote", 60, 15 * time.Minute, task.StrictKey(60, ready)},
		{"Promote", 60, 20 * time.Minute, task.StrictKey(75, ready)},
		{"Promote", 0, 10 * time.Minute, task.StrictKey(50, ready)},
		{"Promote", 90, 30 * time.Minute, task.StrictKey(90, ready)},
		{"Promote", 90, time.Hour, task.StrictKey(100, ready)},
		{"Aging", 100, 0, int64(ready)},
		{"Aging", 75, 0, int64(ready.Add(10 * time.Minute))},
		{"Aging", 25, 0, int64(ready.Add(30 * time.Minute))},
		{"Aging", 25, 2 * time.Hour, int64(ready.Add(30 * time.Minute))},
		{"AgingSlow", 25, 0, int64(ready.Add(time.Hour))},
	} {
		if got := orders()[c.order].KeyAt(c.level, ready, ready.Add(c.waited)); got != c.want {
			t.Errorf("%s: level %d after %v has key %d, want %d", c.order, c.level, c.waited, got, c.want)
		}
	}
}

func drawOrder(t *rapid.T) task.Scheduling {
	minutes := func(name string) time.Duration {
		return time.Duration(rapid.IntRange(1, 200).Draw(t, name)) * time.Minute
	}
	s := task.Scheduling{Mode: rapid.SampledFrom([]task.SchedulingMode{task.Strict, task.Promote, task.Aging}).Draw(t,
		"mode")}
	if rapid.Bool().Draw(t, "bounded") {
		s.MaxWait = minutes("max_wait")
	}
	switch s.Mode {
	case task.Aging:
		s.AgingWeight = time.Duration(rapid.IntRange(1, 600).Draw(t, "weight")) * time.Second
	case task.Promote:
		for range rapid.IntRange(0, 4).Draw(t, "promotions") {
			s.Promotions = append(s.Promotions, task.Promotion{Level: rapid.IntRange(0, 100).Draw(t, "to"),
				After: minutes("after")})
		}
	}
	return s
}

// A step that becomes ready later by the bound is second; Threshold names the steps that need a new key.
func TestOrderOfAnyTwo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawOrder(t)
		p, q := rapid.IntRange(0, 100).Draw(t, "p"), rapid.IntRange(0, 100).Draw(t, "q")
		a := now.Add(-time.Duration(rapid.IntRange(0, 20_000).Draw(t, "age of a")) * time.Second)
		b := now.Add(-time.Duration(rapid.IntRange(0, 20_000).Draw(t, "age of b")) * time.Second)
		ka, kb := s.KeyAt(p, a, now), s.KeyAt(q, b, now)
		if most, bounded := s.Overtaken(p, q); bounded && b > a.Add(most) && kb < ka {
			// in bands the threshold must have been crossed
			if s.Mode == task.Aging || now.Sub(a) >= most {
				t.Fatalf("level %d ready at %d goes after level %d ready at %d, more than %v later: %+v", p, a, q, b, most, s)
			}
		}
		if p == q && a < b && ka >= kb {
			t.Fatalf("level %d: what was ready at %d goes after what was at %d: %+v", p, a, b, s)
		}
		if s.Key(p, a) < 0 || ka > s.LastKey(task.KeyLevel(ka), a) {
			t.Fatalf("level %d has key %d, and the last of its band is %d: %+v", p, ka, s.LastKey(task.KeyLevel(ka), a), s)
		}
		if s.Mode == task.Aging {
			return
		}
		if after := s.Threshold(p); (after > 0 && now.Sub(a) >= after) != (task.KeyLevel(ka) > p) {
			t.Fatalf("level %d after %v is in band %d; the threshold is %v: %+v", p, now.Sub(a), task.KeyLevel(ka), after, s)
		}
	})
}

func TestEffective(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		order  string
		level  int
		waited time.Duration
		want   int
	}{
		{"Strict", 25, 59 * time.Minute, 25},
		{"Strict", 25, time.Hour, 100},
		{"Promote", 25, 15 * time.Minute, 50},
		{"Promote", 60, 25 * time.Minute, 75},
		{"Aging", 25, 0, 25},
		{"Aging", 25, 10 * time.Minute, 50},
		{"Aging", 25, 20 * time.Minute, 75},
		{"Aging", 25, time.Hour, 100},
		{"Aging", 90, 0, 90},
	} {
		order := orders()[c.order]
		at := now.Add(c.waited)
		s := &task.Step{State: task.StepPending, Priority: c.level, RouteID: 5}
		if err := s.Enqueue(now, order); err != nil {
			t.Fatal(err)
		}
		moved := s.Rekey(at, order)
		if again := s.Rekey(at, order); again {
			t.Errorf("%s: a step was rekeyed twice", c.order)
		}
		if want := c.order != "Aging" && c.want != c.level; moved != want {
			t.Errorf("%s: level %d after %v was rekeyed: %v", c.order, c.level, c.waited, moved)
		}
		if got := order.Effective(s, at); got != c.want || s.Priority != c.level {
			t.Errorf("%s: level %d after %v counts as %d, want %d; its own is %d", c.order, c.level, c.waited, got, c.want,
				s.Priority)
		}
		if err := s.Claim(1, at, at.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if got := order.Effective(s, at); got != c.level || s.Rekey(at, order) {
			t.Errorf("%s: a step that does not wait counts as %d", c.order, got)
		}
	}
}
