package postgres

import (
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// A claim passes the place of its steps in their route, not their place among the leases: otherwise a lease that ends
// sooner would be missed.
func TestClaimPassesItsRoute(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), pgtest.DSN(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, err := engine.New(t.Context(), s, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Submit(t.Context(), []engine.Submission{{TaskType: "h"}, {TaskType: "h"}}, false); err != nil {
		t.Fatal(err)
	}
	w, err := e.Register(t.Context(), task.Worker{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	leases, _, err := e.Poll(t.Context(), w.ID, 2, 0, true)
	if err != nil || len(leases) != 2 {
		t.Fatalf("%d leases, %v; want 2", len(leases), err)
	}
	step := leases[1].Step
	queued := task.StrictKey(step.Priority, step.ReadyAt)
	s.routes.mu.Lock()
	defer s.routes.mu.Unlock()
	if got := s.routes.get(step.RouteID).after[queued-int64(step.ReadyAt)]; got != queued {
		t.Errorf("the claim passed %d on the route; want %d", got, queued)
	}
	if got := s.routes.get(task.Leases).after; len(got) > 0 {
		t.Errorf("the claim passed %v among the leases, which it has not looked at", got)
	}
}

// In an order with ageing each level has its own floor: later steps of any level are found, and taken entries are not
// read.
func TestStreamsOfOneBand(t *testing.T) {
	t.Parallel()
	const route = 7
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	high, low := 10*time.Minute, 30*time.Minute // behind the present
	key := func(at time.Time, behind time.Duration) int64 { return int64(task.At(at.Add(behind))) }
	q := newQueues()
	read := func(now time.Time, key int64) bool {
		spans, whole := q.spans([]int64{route}, now)
		return !whole && slices.ContainsFunc(spans, func(s span) bool { return s.low <= key && key <= s.high })
	}
	var now time.Time
	for i := range 100 { // ten seconds of work
		now = begin.Add(time.Duration(i) * 100 * time.Millisecond)
		q.lowered(route, high.Microseconds(), key(now, high))
		q.noteTaken(route, high.Microseconds(), key(now, high), now)
		q.lowered(route, low.Microseconds(), key(now, low))
		q.noteTaken(route, low.Microseconds(), key(now, low), now)
		q.spans([]int64{route}, now) // a claim; some read all
	}
	soon := now.Add(10 * time.Millisecond)
	for name, c := range map[string]struct {
		key  int64
		want bool
	}{
		"NewHigh":         {key(soon, high), true},
		"NewLow":          {key(soon, low), true},
		"CommittedLate":   {key(now.Add(-200*time.Millisecond), high), true},
		"AheadOfUs":       {key(now.Add(time.Second), high), true},
		"OldHigh":         {key(begin.Add(5*time.Second), high), false},
		"OldLow":          {key(begin.Add(5*time.Second), low), false},
		"BetweenTheTwo":   {key(begin, 20*time.Minute), false},
		"BeforeAll":       {key(begin, 0), false},
		"BehindAll":       {key(now, time.Hour), true},
		"AnotherBand":     {task.StrictKey(50, task.At(now)), true},
		"TheLowestOfBand": {task.StrictKey(99, 0), true},
	} {
		if got := read(soon, c.key); got != c.want {
			t.Errorf("%s: looked at: %v, want %v", name, got, c.want)
		}
	}
	// an unknown level: an own step lowers it immediately
	q.lowered(route, 0, key(soon, 0))
	if !read(soon, key(soon, 0)) {
		t.Error("a step of a level that is new here is not looked at")
	}
	if spans, _ := q.spans([]int64{route}, soon); len(spans) > 4 {
		t.Errorf("a claim reads %d parts of the queue: %v", len(spans), spans)
	}
}
