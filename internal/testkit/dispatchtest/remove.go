package dispatchtest

import (
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func removeCases() []testCase {
	return []testCase{
		{"Waiting", removeWaiting},
		{"WaitingElsewhere", removeWaitingElsewhere},
		{"Held", removeHeld},
		{"NewerToken", removeNewerToken},
		{"Left", removeLeft},
		{"OfferAgain", removeAndOfferAgain},
	}
}

// removals spare a step that was granted again later.
func removals(list ...engine.Offered) []engine.Removal {
	out := make([]engine.Removal, len(list))
	for i, o := range list {
		out[i].Offered = o
	}
	return out
}

func removeWaiting(f *fixture) {
	f.offer(steps(1, 3)...)
	f.ok(f.d.Remove(f.Context(), removals(step(2), step(9), step(2))))
	f.same("claimed", numbered(1, 3), ids(f.claims(claim(5))[0]))
}

// A waiting step is found by its ID alone.
func removeWaitingElsewhere(f *fixture) {
	s := step(1)
	s.Token = 9
	f.offer(s)
	f.ok(f.d.Remove(f.Context(), removals(engine.Offered{Step: id(1), Route: route + 1, Key: -4})))
	f.same("claimed", 0, len(f.claims(claim(5))[0]))
	depth, err := f.d.Depth(f.Context(), route, 1000, task.ID{})
	f.ok(err)
	f.same("depth", 0, depth)
}

func removeHeld(f *fixture) {
	h := f.started(1)
	newer := h.Offered
	newer.Token++
	for _, o := range []engine.Offered{h.Offered, newer} {
		f.ok(f.d.Remove(f.Context(), removals(o)))
		f.same("hold", engine.Hold{}, f.find(1))
		due, err := f.d.Expired(f.Context(), start+100*minute, 5)
		f.ok(err)
		f.same("expired", 0, len(due))
		gone, err := f.d.Missing(f.Context(), steps(1, 1))
		f.ok(err)
		f.same("missing", 1, len(gone))
		h = f.started(1)
	}
}

func removeNewerToken(f *fixture) {
	h := f.started(1)
	older := h.Offered
	older.Token--
	f.ok(f.d.Remove(f.Context(), removals(older)))
	f.same("hold", h, f.find(1))
}

// A cancelled step may be granted by another process concurrently: that lease ends, too, though its token is newer than
// any that the cancelling process has seen. A lease granted after the step became ready again, under another key,
// stays.
func removeLeft(f *fixture) {
	before := step(1)
	h := f.started(1)
	elsewhere := before
	elsewhere.Key++
	f.ok(f.d.Remove(f.Context(), []engine.Removal{{Offered: elsewhere, Left: true}}))
	f.same("granted from another place", h, f.find(1))

	f.ok(f.d.Remove(f.Context(), []engine.Removal{{Offered: before, Left: true}}))
	f.same("granted from this place", engine.Hold{}, f.find(1))
	held, err := f.d.HeldBy(f.Context(), worker, 5)
	f.ok(err)
	f.same("held", 0, len(held))
	renewed, err := f.d.Renew(f.Context(), []engine.Renewal{{LeaseRef: ref(h)}}, start+minute)
	f.ok(err)
	f.same("renewed", []engine.Hold{{}}, renewed)
}

// As after an expired lease, or a failure with a retry.
func removeAndOfferAgain(f *fixture) {
	h := f.started(1)
	f.ok(f.d.Remove(f.Context(), removals(h.Offered)))
	again := h.Offered
	again.Key = 99
	f.offer(again)
	got := f.one(claim(1))
	f.same("key", int64(99), got.Key)
	f.same("token", h.Token+1, got.Token)
	started, err := f.d.Start(f.Context(), []engine.LeaseRef{ref(h)}, start, start+minute)
	f.ok(err)
	f.same("the lease before", []engine.Hold{{}}, started)
}
