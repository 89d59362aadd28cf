package dispatchtest

import (
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func lookingCases() []testCase {
	return []testCase{
		{"Find", find},
		{"HeldBy", heldBy},
		{"Held", held},
		{"Expired", expired},
		{"RenewedIsNotExpired", renewedIsNotExpired},
	}
}

func find(f *fixture) {
	h := f.started(2)
	f.offer(step(1))
	got, err := f.d.Find(f.Context(), numbered(1, 2, 3, 2))
	f.ok(err)
	f.same("Find", []engine.Hold{{}, h, {}, h}, got)
}

func heldBy(f *fixture) {
	f.offer(steps(1, 6)...)
	mine, other := claim(4), claim(2)
	other.Worker = worker + 1
	holds := f.claims(mine, other)
	for i, w := range []int64{worker, worker + 1} {
		got, err := f.d.HeldBy(f.Context(), w, 10)
		f.ok(err)
		f.same("all", holds[i], got)
	}
	some, err := f.d.HeldBy(f.Context(), worker, 3)
	f.ok(err)
	f.same("limit", 3, len(some))
	for _, h := range some {
		f.same("worker", worker, h.Worker)
	}
	f.ok(f.d.Remove(f.Context(), removals(holds[0][0].Offered)))
	got, err := f.d.HeldBy(f.Context(), worker, 10)
	f.ok(err)
	f.same("without the one that ended", holds[0][1:], got)
}

func held(f *fixture) {
	counts := func(want map[int64]int) {
		f.Helper()
		got, err := f.d.Held(f.Context())
		f.ok(err)
		f.same("held", want, got)
	}
	counts(map[int64]int{})
	f.offer(steps(1, 6)...)
	mine, other := claim(3), claim(2)
	other.Worker = 1<<62 + 1 // a double does not hold it
	holds := f.claims(mine, other)
	counts(map[int64]int{worker: 3, 1<<62 + 1: 2})
	f.ok(f.d.Remove(f.Context(), removals(holds[0][0].Offered, holds[1][0].Offered, holds[1][1].Offered)))
	counts(map[int64]int{worker: 2})
}

// A lease expires at its end, or at the time-out of the attempt.
func expired(f *fixture) {
	f.offer(steps(1, 5)...)
	var want []task.ID
	for _, seconds := range []task.Instant{50, 20, 70, 40, 30} {
		c := claim(1)
		c.Start, c.Until = true, start+seconds*second
		h := f.one(c)
		if due := min(c.Until, start+minute); h.LookAt != due {
			f.Errorf("looked after at %d, want %d", h.LookAt, due)
		}
	}
	for _, tc := range []struct {
		now   task.Instant
		limit int
		want  []task.ID
	}{
		{start + 20*second - 1, 10, numbered()},
		{start + 20*second, 10, numbered(2)},
		{start + minute, 10, numbered(2, 5, 4, 1, 3)},
		{start + minute, 2, numbered(2, 5)},
		{start + minute - 1, 10, numbered(2, 5, 4, 1)},
	} {
		got, err := f.d.Expired(f.Context(), tc.now, tc.limit)
		f.ok(err)
		want = tc.want
		f.same(tc.now.Time().Format(time.TimeOnly), want, ids(got))
	}
}

func renewedIsNotExpired(f *fixture) {
	h := f.started(1)
	_, err := f.d.Renew(f.Context(), []engine.Renewal{{LeaseRef: ref(h)}}, start+10*second)
	f.ok(err)
	_, err = f.d.Renew(f.Context(), []engine.Renewal{{LeaseRef: ref(h)}}, start+20*second)
	f.ok(err)
	due, err := f.d.Expired(f.Context(), start+20*second-1, 5)
	f.ok(err)
	f.same("expired", 0, len(due))
}
