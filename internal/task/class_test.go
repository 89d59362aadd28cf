package task_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/task"
)

func TestClassOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		f    task.Failure
		want task.Class
	}{
		{"Unknown", task.Failure{Message: "connection refused", Retryable: true}, task.Transient},
		{"Final", task.Failure{Code: "TIMEOUT"}, task.Logic},
		{"Named", task.Failure{Code: "TIMEOUT", Class: task.Lost, Retryable: true}, task.Lost},
		{"NamedAndFinal", task.Failure{Class: task.Resource}, task.Resource},
		{"NamedUnknown", task.Failure{Class: "postage", Code: "OOM", Retryable: true}, task.Resource},
		{"Timeout", task.Failure{Code: "TIMEOUT", Retryable: true}, task.Resource},
		{"TimeoutType", task.Failure{Type: "timeout", Retryable: true}, task.Resource},
		{"OutOfMemory", task.Failure{Code: "out-of-memory", Retryable: true}, task.Resource},
		{"WorkerOutOfMemory", task.Failure{Code: "WORKER_OOM", Retryable: true}, task.Resource},
		{"NoHandler", task.Failure{Type: "unknown_handler", Retryable: true}, task.Lost},
		{"WorkerLost", task.Failure{Code: "WORKER_LOST", Retryable: true}, task.Lost},
		{"LeaseExpired", task.Failure{Type: "lease_expired", Retryable: true}, task.Lost},
		{"CodeBeforeType", task.Failure{Type: "timeout", Code: "WORKER_LOST", Retryable: true}, task.Lost},
		{"CodeUnknown", task.Failure{Type: "timeout", Code: "E42", Retryable: true}, task.Resource},
		{"PartOfAWord", task.Failure{Type: "net.TimeoutError", Code: "ROOM", Retryable: true}, task.Transient},
		{"RateLimit", task.Failure{Code: "RATE_LIMIT", Retryable: true}, task.Transient},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := task.ClassOf(&c.f); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// Naming the class that a failure has changes nothing.
func TestClassOfIsStable(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{"", "x", "TIMEOUT", "oom", "WORKER_LOST", "lease_expired", "RATE_LIMIT"})
	rapid.Check(t, func(t *rapid.T) {
		f := task.Failure{Type: words.Draw(t, "type"), Code: words.Draw(t, "code"), Retryable: rapid.Bool().Draw(t, "retryable")}
		first := task.ClassOf(&f)
		f.Class = first
		if second := task.ClassOf(&f); !first.Known() || second != first {
			t.Fatalf("%s, then %s", first, second)
		}
	})
}

func limit(n int) *int { return &n }

// common are the limits that a server has when it is told nothing.
func common() task.ClassLimits {
	return task.ClassLimits{Transient: limit(5), Resource: limit(3), Logic: limit(0), Worker: limit(3)}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		budget task.Budget
		want   map[task.Class]int // attempts in all
	}{
		{"High", task.Budget{Attempts: 6, Common: common()},
			map[task.Class]int{task.Transient: 6, task.Resource: 4, task.Logic: 1, task.Lost: 4}},
		{"Medium", task.Budget{Attempts: 4, Common: common()},
			map[task.Class]int{task.Transient: 4, task.Resource: 4, task.Logic: 1, task.Lost: 4}},
		{"Low", task.Budget{Attempts: 3, Common: common()},
			map[task.Class]int{task.Transient: 3, task.Resource: 3, task.Logic: 1, task.Lost: 3}},
		{"ALimitNeverRaises", task.Budget{Attempts: 1, Common: common()},
			map[task.Class]int{task.Transient: 1, task.Resource: 1, task.Logic: 1, task.Lost: 1}},
		{"Chosen", task.Budget{Attempts: 20, Chosen: true, Common: common()},
			map[task.Class]int{task.Transient: 20, task.Resource: 20, task.Logic: 1, task.Lost: 20}},
		{"ChosenWithOwn", task.Budget{Attempts: 20, Chosen: true, Own: task.ClassLimits{Resource: limit(0), Logic: limit(2)}, Common: common()},
			map[task.Class]int{task.Transient: 20, task.Resource: 1, task.Logic: 3, task.Lost: 20}},
		{"OwnBeatsCommon", task.Budget{Attempts: 20, Own: task.ClassLimits{Transient: limit(9), Worker: limit(1)}, Common: common()},
			map[task.Class]int{task.Transient: 10, task.Resource: 4, task.Logic: 1, task.Lost: 2}},
		{"NoneAtAll", task.Budget{Attempts: 6, Common: task.ClassLimits{Resource: limit(-1)}},
			map[task.Class]int{task.Transient: 6, task.Resource: 0, task.Logic: 6, task.Lost: 6}},
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

// A class never raises the number of attempts, and what is allowed never falls when a
// limit rises.
func TestBudgetBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := func(name string) (l task.ClassLimits) {
			for i, at := range []**int{&l.Transient, &l.Resource, &l.Logic, &l.Worker} {
				if n := rapid.IntRange(-2, 12).Draw(t, name+string(task.Classes[i])); n > -2 {
					*at = &n
				}
			}
			return l
		}
		b := task.Budget{Attempts: rapid.IntRange(1, 12).Draw(t, "attempts"), Chosen: rapid.Bool().Draw(t, "chosen"), Own: limits("own "), Common: limits("common ")}
		class := rapid.SampledFrom(task.Classes).Draw(t, "class")
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
