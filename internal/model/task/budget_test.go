package task_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func limit(n int) *int { return &n }

func common() task.ClassLimits {
	return task.ClassLimits{Transient: limit(5), Resource: limit(3), Logic: limit(0), Worker: limit(3)}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		budget task.Budget
		want   map[failure.Class]int // total attempts
	}{
		{"High", task.Budget{Attempts: 6, Common: common()},
			map[failure.Class]int{failure.Transient: 6, failure.Resource: 4, failure.Logic: 1, failure.Worker: 4}},
		{"Medium", task.Budget{Attempts: 4, Common: common()},
			map[failure.Class]int{failure.Transient: 4, failure.Resource: 4, failure.Logic: 1, failure.Worker: 4}},
		{"Low", task.Budget{Attempts: 3, Common: common()},
			map[failure.Class]int{failure.Transient: 3, failure.Resource: 3, failure.Logic: 1, failure.Worker: 3}},
		{"ALimitNeverRaises", task.Budget{Attempts: 1, Common: common()},
			map[failure.Class]int{failure.Transient: 1, failure.Resource: 1, failure.Logic: 1, failure.Worker: 1}},
		{"Chosen", task.Budget{Attempts: 20, Chosen: true, Common: common()},
			map[failure.Class]int{failure.Transient: 20, failure.Resource: 20, failure.Logic: 1, failure.Worker: 20}},
		{"ChosenWithOwn", task.Budget{Attempts: 20, Chosen: true, Own: task.ClassLimits{Resource: limit(0), Logic: limit(2)},
			Common: common()},
			map[failure.Class]int{failure.Transient: 20, failure.Resource: 1, failure.Logic: 3, failure.Worker: 20}},
		{"OwnBeatsCommon", task.Budget{Attempts: 20, Own: task.ClassLimits{Transient: limit(9), Worker: limit(1)},
			Common: common()},
			map[failure.Class]int{failure.Transient: 10, failure.Resource: 4, failure.Logic: 1, failure.Worker: 2}},
		{"NoneAtAll", task.Budget{Attempts: 6, Common: task.ClassLimits{Resource: limit(-1)}},
			map[failure.Class]int{failure.Transient: 6, failure.Resource: 0, failure.Logic: 6, failure.Worker: 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for class, want := range c.want {
				if got := c.budget.After(class); got != want {
					t.Errorf("%s: %d attempts, want %d", class, got, want)
				}
			}
		})
	}
}

func TestBudgetBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := func(name string) (l task.ClassLimits) {
			for i, at := range []**int{&l.Transient, &l.Resource, &l.Logic, &l.Worker} {
				if n := rapid.IntRange(-2, 12).Draw(t, name+string(failure.Classes[i])); n > -2 {
					*at = &n
				}
			}
			return l
		}
		b := task.Budget{Attempts: rapid.IntRange(1, 12).Draw(t, "attempts"), Chosen: rapid.Bool().Draw(t, "chosen"),
			Own: limits("own "), Common: limits("common ")}
		class := rapid.SampledFrom(failure.Classes).Draw(t, "class")
		got := b.After(class)
		if got > b.Attempts || got < 0 {
			t.Fatalf("%d attempts of %d", got, b.Attempts)
		}
		for _, l := range []task.ClassLimits{b.Own, b.Common} {
			if n := l.Of(class); n != nil {
				*n++
			}
		}
		if more := b.After(class); more < got {
			t.Fatalf("with greater limits %d attempts, without %d", more, got)
		}
	})
}
