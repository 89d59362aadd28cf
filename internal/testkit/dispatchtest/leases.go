package dispatchtest

import (
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func leaseCases() []testCase {
	return []testCase{
		{"Start", startAssigned},
		{"StartTwice", startTwice},
		{"StaleToken", staleToken},
		{"Renew", renew},
		{"RenewAssigned", renewAssigned},
		{"RenewTwiceAtOnce", renewTwiceAtOnce},
		{"Progress", progress},
	}
}

func startAssigned(f *fixture) {
	f.offer(step(1))
	h := f.one(claim(1))
	got, err := f.d.Start(f.Context(), []engine.LeaseRef{ref(h)}, start+second, start+90*second)
	f.ok(err)
	h.StartedAt, h.Until, h.LookAt = start+second, start+90*second, start+61*second // the step's time-out is a minute
	f.same("answer", []engine.Hold{h}, got)
	f.same("found", h, f.find(1))
}

func startTwice(f *fixture) {
	h := f.started(1)
	got, err := f.d.Start(f.Context(), []engine.LeaseRef{ref(h)}, start+5*second, start+55*second)
	f.ok(err)
	h.Until, h.LookAt = start+55*second, start+55*second
	f.same("the attempt goes on", []engine.Hold{h}, got)
}

// Answers are in order; the zero Hold for a stale lease.
func staleToken(f *fixture) {
	h := f.started(1)
	f.offer(step(2))
	older, newer := ref(h), ref(h)
	older.Token--
	newer.Token++
	own, foreign := ref(h), ref(h)
	own.Worker, foreign.Worker = h.Worker, h.Worker+1
	refs := []engine.LeaseRef{older, {Step: id(2), Token: 0}, own, newer, {Step: id(3), Token: 1}, foreign}
	until := start + 10*second
	want := h
	want.Until, want.LookAt = until, until

	got, err := f.d.Start(f.Context(), refs, start+second, until)
	f.ok(err)
	f.same("Start", []engine.Hold{{}, {}, want, {}, {}, {}}, got)

	renewals := make([]engine.Renewal, len(refs))
	for i, r := range refs {
		renewals[i] = engine.Renewal{LeaseRef: r, Progress: &engine.Progress{Percent: i}}
	}
	want.Progress = 2
	got, err = f.d.Renew(f.Context(), renewals, until)
	f.ok(err)
	f.same("Renew", []engine.Hold{{}, {}, want, {}, {}, {}}, got)
	f.same("found", want, f.find(1))
}

// A renewal never extends a lease past the time-out of the attempt.
func renew(f *fixture) {
	h := f.started(1)
	for _, until := range []task.Instant{start + 30*second, start + 59*second, start + 200*second} {
		got, err := f.d.Renew(f.Context(), []engine.Renewal{{LeaseRef: ref(h)}}, until)
		f.ok(err)
		h.Until, h.LookAt = until, min(until, start+minute)
		f.same("answer", []engine.Hold{h}, got)
	}
	f.same("found", h, f.find(1))
}

// An assigned step must start in time, regardless of signs of life.
func renewAssigned(f *fixture) {
	f.offer(step(1))
	h := f.one(claim(1))
	got, err := f.d.Renew(f.Context(), []engine.Renewal{{LeaseRef: ref(h), Progress: &engine.Progress{Percent: 5}}},
		start+90*second)
	f.ok(err)
	h.Progress = 5
	f.same("answer", []engine.Hold{h}, got)
	due, err := f.d.Expired(f.Context(), h.Until, 5)
	f.ok(err)
	f.same("expired", []engine.Hold{h}, due)
}

func renewTwiceAtOnce(f *fixture) {
	h := f.started(1)
	got, err := f.d.Renew(f.Context(), []engine.Renewal{
		{LeaseRef: ref(h), Progress: &engine.Progress{Percent: 5, Note: "a"}},
		{LeaseRef: ref(h)},
		{LeaseRef: ref(h), Progress: &engine.Progress{Percent: 6}},
	}, start+30*second)
	f.ok(err)
	h.Until, h.LookAt = start+30*second, start+30*second
	first, last := h, h
	first.Progress, first.Note = 5, "a"
	last.Progress = 6
	f.same("answers", []engine.Hold{first, first, last}, got)
	f.same("found", last, f.find(1))
}

func progress(f *fixture) {
	f.offer(steps(1, 3)...)
	c := claim(3)
	c.Start, c.Until = true, start+90*second
	holds := f.claims(c)[0]
	notes := []string{"", "half\x00 way \xff é 漢", strings.Repeat("n", 4096)}
	var renewals []engine.Renewal
	for i, h := range holds {
		renewals = append(renewals, engine.Renewal{LeaseRef: ref(h),
			Progress: &engine.Progress{Percent: i * 50, Note: notes[i]}})
	}
	_, err := f.d.Renew(f.Context(), renewals, start+30*second)
	f.ok(err)
	for i := range renewals {
		renewals[i].Progress = nil
	}
	got, err := f.d.Renew(f.Context(), renewals, start+40*second)
	f.ok(err)
	for i, h := range got {
		if h.Progress != i*50 || h.Note != notes[i] || h.Until != start+40*second {
			f.Errorf("%d: %d %.20q until %s", i, h.Progress, h.Note, h.Until.Time().Format(time.TimeOnly))
		}
	}
}
