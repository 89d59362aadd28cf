package dispatchtest

import (
	"math"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func countCases() []testCase {
	return []testCase{
		{"Depth", depth},
		{"Waiting", waiting},
		{"Missing", missing},
	}
}

func depth(f *fixture) {
	for i, k := range []int64{math.MinInt64, -5, 0, 1<<53 + 1, 1<<53 + 2, math.MaxInt64} {
		s := step(i)
		s.Key = k
		f.offer(s)
	}
	for _, tc := range []struct {
		below int64
		want  int
	}{{math.MinInt64, 0}, {-5, 1}, {-4, 2}, {0, 2}, {1, 3}, {1<<53 + 1, 3}, {1<<53 + 2, 4}, {1<<53 + 3, 5},
		{math.MaxInt64, 5}} {
		got, err := f.d.Depth(f.Context(), route, tc.below, task.ID{})
		f.ok(err)
		if got != tc.want {
			f.Errorf("below %d: %d, want %d", tc.below, got, tc.want)
		}
	}
	got, err := f.d.Depth(f.Context(), route+1, math.MaxInt64, task.ID{})
	f.ok(err)
	f.same("of another route", 0, got)
	same := steps(10, 3) // with one key
	for i := range same {
		same[i].Route, same[i].Key = route+1, 7
	}
	f.offer(same...)
	for i := range same {
		got, err := f.d.Depth(f.Context(), route+1, 7, same[i].Step)
		f.ok(err)
		f.same("before equals", i, got)
	}
}

// Held steps do not wait, and a route without steps is not in the answer.
func waiting(f *fixture) {
	other := step(9)
	other.Route = route + 1
	f.offer(append(steps(1, 3), other)...)
	f.claims(claim(1))
	ask := []int64{route, route + 1, route + 2, route}
	got, err := f.d.Waiting(f.Context(), ask)
	f.ok(err)
	f.same("after one claim", map[int64]int{route: 2, route + 1: 1}, got)
	f.claims(claim(5))
	got, err = f.d.Waiting(f.Context(), ask)
	f.ok(err)
	f.same("after all", map[int64]int{route + 1: 1}, got)
}

func missing(f *fixture) {
	f.offer(step(1), step(3))
	f.claims(claim(1))
	got, err := f.d.Missing(f.Context(), steps(0, 4))
	f.ok(err)
	f.same("missing", []engine.Offered{step(0), step(2), step(4)}, got)

	// The store may have ended a lease, which its step's token shows.
	held := f.find(1)
	over := step(1)
	for token, want := range map[int64]int{held.Token - 1: 0, held.Token: 1, held.Token + 1: 1} {
		over.Token = token
		got, err := f.d.Missing(f.Context(), []engine.Offered{over})
		f.ok(err)
		f.same("missing", want, len(got))
	}
}
