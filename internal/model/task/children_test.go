package task

import (
	"testing"

	"pgregory.net/rapid"
)

// TestFanOut: in any order of ends and repairs a fan-out counts each child once, keeps its bounds, and ends
// consistently.
func TestFanOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := ChildSpec{Items: "x", Concurrency: rapid.IntRange(0, 5).Draw(t, "concurrency"),
			MaxFailed: rapid.IntRange(0, 5).Draw(t, "max failed"), FailOnError: rapid.Bool().Draw(t, "fail on error"),
			Percent: rapid.Bool().Draw(t, "percent")}
		f := FanOut{Total: rapid.IntRange(0, 20).Draw(t, "total")}
		states := make([]ChildState, f.Total)
		for moves := 0; moves < 1000; moves++ {
			v := f.Verdict(&c)
			checkFanOut(t, &f, &c, states)
			if v == Joined || v == TooMany {
				return
			}
			for range f.Room(&c) {
				states[f.Submitted] = ChildRunning
				f.Count(ChildNew, ChildRunning)
				f.Submitted++
			}
			var open []int
			for i, s := range states {
				if s == ChildRunning || s == ChildErrored {
					open = append(open, i)
				}
			}
			if len(open) == 0 {
				continue
			}
			i := rapid.SampledFrom(open).Draw(t, "child")
			to := rapid.SampledFrom([]ChildState{ChildDone, ChildErrored, ChildGivenUp}).Draw(t, "to")
			if states[i] == ChildErrored && to == ChildErrored {
				to = ChildRunning // replayed
			}
			f.Count(states[i], to)
			states[i] = to
		}
	})
}

func checkFanOut(t *rapid.T, f *FanOut, c *ChildSpec, states []ChildState) {
	count := map[ChildState]int{}
	for _, s := range states {
		count[s]++
	}
	if f.Running != count[ChildRunning] || f.Done != count[ChildDone] || f.Errored != count[ChildErrored] ||
		f.GivenUp != count[ChildGivenUp] || f.Submitted != f.Total-count[ChildNew] {
		t.Fatalf("%+v does not count %v", f, count)
	}
	may, failed := c.Tolerated(f.Total), f.Errored+f.GivenUp
	if n := f.Room(c); n > 0 && (failed > may || f.Running+n > c.Width() || f.Submitted+n > f.Total) {
		t.Fatalf("room for %d: %+v", n, f)
	}
	switch v := f.Verdict(c); {
	case v == Joined && (f.Running > 0 || f.Submitted < f.Total || failed > may):
		t.Fatalf("joined: %+v", f)
	case v == TooMany && failed <= may:
		t.Fatalf("failed although %d may fail: %+v", may, f)
	case v == Going && f.Running == 0 && f.Room(c) == 0:
		t.Fatalf("nothing runs and nothing may begin: %+v", f)
	case v == Stuck && (f.Errored == 0 || c.FailOnError):
		t.Fatalf("nobody can repair anything: %+v", f)
	}
}
