package dispatchtest

import "github.com/taskerhq/tasker/internal/engine"

func adoptCases() []testCase {
	return []testCase{
		{"Absent", adoptAbsent},
		{"Waiting", adoptWaiting},
		{"GivenBackSince", adoptGivenBackSince},
		{"Held", adoptHeld},
		{"SameToken", adoptSameToken},
		{"OtherWorker", adoptOtherWorker},
	}
}

// remembered is a lease with everything in it.
func remembered(n int) engine.Hold {
	h := engine.Hold{Offered: step(n), Worker: worker, AssignedAt: start, StartedAt: start + 1, Until: start + 30*second, LookAt: start + 20*second,
		Progress: 44, Note: "nearly half"}
	h.Token = 1000
	return h
}

func (f *fixture) adopt(list ...engine.Hold) {
	f.Helper()
	f.ok(f.d.Adopt(f.Context(), list))
}

func adoptAbsent(f *fixture) {
	h := remembered(1)
	f.adopt(h)
	f.same("found", h, f.find(1))
	f.offer(step(1))
	f.same("claimed", 0, len(f.claims(claim(1))[0]))
	held, err := f.d.HeldBy(f.Context(), worker, 5)
	f.ok(err)
	f.same("held", []engine.Hold{h}, held)
	due, err := f.d.Expired(f.Context(), h.LookAt, 5)
	f.ok(err)
	f.same("due", []engine.Hold{h}, due)
}

func adoptWaiting(f *fixture) {
	f.offer(step(1), step(2))
	h := remembered(1)
	f.adopt(h)
	f.same("found", h, f.find(1))
	f.same("claimed", numbered(2), ids(f.claims(claim(5))[0]))
}

// It waits with the token that its last lease had: that lease is over.
func adoptGivenBackSince(f *fixture) {
	h := remembered(1)
	s := step(1)
	s.Token = h.Token
	f.offer(s)
	f.adopt(h)
	f.same("found", engine.Hold{}, f.find(1))
	f.same("token", h.Token+1, f.one(claim(1)).Token)
}

func adoptHeld(f *fixture) {
	f.offer(step(1))
	c := claim(1)
	c.Token = 1000
	held := f.one(c)
	older, newer := remembered(1), remembered(1)
	older.Token, newer.Token = 999, 1001
	f.adopt(older)
	f.same("older", held, f.find(1))
	f.adopt(newer)
	f.same("newer", newer, f.find(1))
}

// Two processes remember one lease, at different times of its life.
func adoptSameToken(f *fixture) {
	assigned, begun, renewed := remembered(1), remembered(1), remembered(1)
	assigned.StartedAt, assigned.Until, assigned.Progress = 0, start+90*second, 0
	renewed.Until, renewed.LookAt = start+40*second, start+40*second
	f.adopt(assigned)
	f.adopt(renewed, begun)
	f.same("found", renewed, f.find(1))
	f.adopt(assigned)
	f.same("found", renewed, f.find(1))
	due, err := f.d.Expired(f.Context(), start+90*second, 5)
	f.ok(err)
	f.same("due", []engine.Hold{renewed}, due)
}

func adoptOtherWorker(f *fixture) {
	first, second := remembered(1), remembered(1)
	second.Worker, second.Token = worker+1, first.Token+1
	f.adopt(first, second)
	for w, want := range map[int64]int{worker: 0, worker + 1: 1} {
		held, err := f.d.HeldBy(f.Context(), w, 5)
		f.ok(err)
		if len(held) != want {
			f.Errorf("worker %d holds %d, want %d", w, len(held), want)
		}
	}
}
