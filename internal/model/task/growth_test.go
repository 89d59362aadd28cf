package task_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestGrowth(t *testing.T) {
	t.Parallel()
	byClass := task.Growth{Rule: task.GrowResource, Factor: 1.5, Cap: time.Hour}
	always, never := byClass, byClass
	always.Rule, never.Rule = task.GrowAlways, task.GrowNever
	for _, c := range []struct {
		name   string
		growth task.Growth
		class  failure.Class
		want   []time.Duration // from the first attempt
	}{
		{"Resource", byClass, failure.Resource, []time.Duration{600 * s, 900 * s, 1350 * s, 2025 * s, 3038 * s, 3600 * s,
			3600 * s}},
		{"OtherClass", byClass, failure.Transient, []time.Duration{600 * s, 600 * s}},
		{"Always", always, failure.Worker, []time.Duration{2 * s, 3 * s, 5 * s, 8 * s}},
		{"Never", never, failure.Resource, []time.Duration{600 * s, 600 * s}},
		{"WholeSeconds", byClass, failure.Resource, []time.Duration{s, 2 * s, 3 * s}},
		{"LessThanASecond", byClass, failure.Resource, []time.Duration{100 * ms, s}},
		{"OverTheCap", byClass, failure.Resource, []time.Duration{2 * time.Hour, 2 * time.Hour}},
		{"None", byClass, failure.Resource, []time.Duration{0, 0}},
		{"OddCap", task.Growth{Rule: task.GrowAlways, Factor: 1.5, Cap: 2500 * ms}, failure.Logic,
			[]time.Duration{2 * s, 2500 * ms, 2500 * ms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := c.want[0]
			for i, want := range c.want[1:] {
				if got = c.growth.Next(got, c.class); got != want {
					t.Errorf("attempt %d has %s, want %s", i+2, got, want)
				}
			}
		})
	}
}

func TestGrowthBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := task.Growth{Rule: rapid.SampledFrom(task.GrowthRules).Draw(t, "rule"),
			Factor: rapid.Float64Range(1, 10).Draw(t, "factor"),
			Cap:    time.Duration(rapid.Int64Range(1, int64(7*24*time.Hour)).Draw(t, "cap"))}
		was := time.Duration(rapid.Int64Range(0, int64(30*24*time.Hour)).Draw(t, "timeout"))
		got := g.Next(was, rapid.SampledFrom(failure.Classes).Draw(t, "class"))
		if got < was || got > max(was, g.Cap) {
			t.Fatalf("%s grows to %s, the cap is %s", was, got, g.Cap)
		}
	})
}
