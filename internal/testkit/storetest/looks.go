package storetest

import (
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// lookCases are about whole queues.
func lookCases() []testCase {
	return []testCase{
		{"ReadyCounts", readyCounts},
		{"ReadySample", readySample},
		{"LeasedCounts", leasedCounts},
		{"OfNothing", looksAtNothing},
	}
}

func readyCounts(f *fixture) {
	gone := f.keyed("a", 3)
	f.insert(f.keyed("a", 1), f.keyed("a", 2), gone, f.keyed("b", 1))
	f.move(gone, func(s *task.Step) error { return s.Assign(1, f.now, f.now.Add(time.Minute)) })
	a, b := f.routeOf("a"), f.routeOf("b")
	for _, c := range []struct {
		limit int
		want  map[int64]int
	}{
		{100, map[int64]int{a: 2, b: 1}},
		{2, map[int64]int{min(a, b): 2}},
		{3, map[int64]int{a: 2, b: 1}},
	} {
		got, err := f.store.QueueStore().ReadyCounts(f.Context(), c.limit)
		f.must(err)
		f.equal("counts", got, c.want)
	}
}

func readySample(f *fixture) {
	var jobs []job
	for i := range 7 {
		jobs = append(jobs, f.keyed("a", int64(10+i/2))) // two of a key: by ID
	}
	jobs = append(jobs, f.keyed("b", 1))
	leased := f.keyed("b", 0)
	f.insert(append(jobs, leased)...)
	f.move(leased, func(s *task.Step) error { return s.Assign(1, f.now, f.now.Add(time.Minute)) })
	want := func(places ...int) []engine.ReadyStep {
		var out []engine.ReadyStep
		for _, p := range places {
			s := jobs[p].steps[0]
			out = append(out, engine.ReadyStep{ID: s.ID, Route: s.RouteID, Priority: s.Priority, Key: s.Key, ReadyAt: s.ReadyAt})
		}
		return out
	}
	if f.routeOf("a") > f.routeOf("b") {
		f.Fatal("the routes are in another order than this test thinks")
	}
	for _, c := range []struct {
		name          string
		stride, limit int
		want          []engine.ReadyStep
	}{
		{"all", 1, 100, want(0, 1, 2, 3, 4, 5, 6, 7)},
		{"limited", 1, 3, want(0, 1, 2)},
		{"one of two", 2, 100, want(1, 3, 5, 7)},
		{"one of three", 3, 100, want(1, 4, 7)},
		{"one of three, of the first four", 3, 4, want(1)},
		{"too few", 100, 100, nil},
	} {
		got, err := f.store.QueueStore().ReadySample(f.Context(), c.stride, c.limit)
		f.must(err)
		f.equal(c.name, got, c.want)
	}
}

func leasedCounts(f *fixture) {
	jobs := []job{f.keyed("a", 1), f.keyed("a", 2), f.keyed("a", 3), f.keyed("b", 1), f.keyed("b", 2)}
	jobs[1].steps[0].Priority, jobs[3].steps[0].Priority = 90, 90
	f.insert(jobs...)
	until := f.now.Add(time.Minute)
	for _, j := range jobs[:4] {
		f.move(j, func(s *task.Step) error { return s.Assign(1, f.now, until) })
	}
	f.move(jobs[1], func(s *task.Step) error { return s.Begin(f.now, until) })
	a, b := f.routeOf("a"), f.routeOf("b")
	usual := jobs[0].steps[0].Priority
	got, err := f.store.QueueStore().LeasedCounts(f.Context(), 100)
	f.must(err)
	f.equal("counts", got, []engine.LeasedCount{
		{Route: a, Priority: usual, State: task.StepAssigned, Steps: 2},
		{Route: a, Priority: 90, State: task.StepInProgress, Steps: 1},
		{Route: b, Priority: 90, State: task.StepAssigned, Steps: 1},
	})
	got, err = f.store.QueueStore().LeasedCounts(f.Context(), 2)
	f.must(err)
	n := 0
	for _, c := range got {
		n += c.Steps
	}
	f.equal("limited", n, 2)
}

func looksAtNothing(f *fixture) {
	counts, err := f.store.QueueStore().ReadyCounts(f.Context(), 10)
	f.must(err)
	f.equal("counts", len(counts), 0)
	sample, err := f.store.QueueStore().ReadySample(f.Context(), 1, 10)
	f.must(err)
	f.equal("sample", len(sample), 0)
	leased, err := f.store.QueueStore().LeasedCounts(f.Context(), 10)
	f.must(err)
	f.equal("leased", len(leased), 0)
}
