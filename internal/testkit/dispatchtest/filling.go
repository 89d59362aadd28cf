package dispatchtest

import (
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/await"
)

func fillingCases() []testCase {
	return []testCase{
		{"NewProcess", newProcess},
		{"Refused", refusedWhileFilled},
		{"Allowed", allowedWhileFilled},
		{"BeginsEmpty", beginsEmpty},
		{"TwoAtOnce", twoAtOnce},
		{"TurnRunsOut", turnRunsOut},
		{"GoesOn", fillingGoesOn},
		{"ReadBefore", readBefore},
		{"RanOutMeanwhile", ranOutMeanwhile},
		{"TurnOfAnother", turnOfAnother},
		{"OthersLearnOnce", othersLearnOnce},
		{"OtherVerbLearnsOnce", otherVerbLearnsOnce},
		{"ContentHasAName", contentHasAName},
	}
}

// verbs answer ErrDispatchLost unless the content is complete.
func verbs(f *fixture, d engine.Dispatcher) map[string]error {
	ctx := f.Context()
	out := map[string]error{}
	_, out["Claim"] = d.Claim(ctx, []engine.Claim{claim(1)}, start)
	_, out["Start"] = d.Start(ctx, []engine.LeaseRef{{Step: id(1), Token: 1}}, start, start)
	_, out["Renew"] = d.Renew(ctx, []engine.Renewal{{LeaseRef: engine.LeaseRef{Step: id(1), Token: 1}}}, start)
	_, out["Find"] = d.Find(ctx, []task.ID{id(1)})
	_, out["HeldBy"] = d.HeldBy(ctx, worker, 5)
	_, out["Held"] = d.Held(ctx)
	_, out["Expired"] = d.Expired(ctx, start, 5)
	_, out["Missing"] = d.Missing(ctx, steps(1, 1))
	_, out["Depth"] = d.Depth(ctx, route, 5, task.ID{})
	_, out["Waiting"] = d.Waiting(ctx, []int64{route})
	return out
}

// fillers also work while the content is filled.
func fillers(f *fixture, d engine.Dispatcher) map[string]error {
	ctx := f.Context()
	return map[string]error{
		"Offer":  d.Offer(ctx, steps(1, 2)),
		"Remove": d.Remove(ctx, removals(steps(2, 2)...)),
	}
}

// allLost checks that every verb reports the loss.
func allLost(f *fixture, d engine.Dispatcher) {
	f.Helper()
	for verb, err := range verbs(f, d) {
		f.lost(verb, err)
	}
	for verb, err := range fillers(f, d) {
		f.lost(verb, err)
	}
}

func allWell(f *fixture, d engine.Dispatcher) {
	f.Helper()
	for _, answers := range []map[string]error{verbs(f, d), fillers(f, d)} {
		for verb, err := range answers {
			if err != nil {
				f.Fatalf("%s: %v", verb, err)
			}
		}
	}
}

// A new process learns by Check that the queues are complete.
func newProcess(f *fixture) {
	f.offer(step(1))
	d := f.sys.Open(f)
	allLost(f, d)
	f.ok(d.Check(f.Context()))
	f.same("claimed", numbered(1), ids(claimAt(f, d, start, claim(5))[0]))
	f.ok(f.d.Check(f.Context()))
}

func refusedWhileFilled(f *fixture) {
	f.reload(f.d)
	other := f.sys.Open(f)
	for _, d := range []engine.Dispatcher{f.d, other} {
		for verb, err := range verbs(f, d) {
			f.lost(verb, err)
		}
		f.lost("Check", d.Check(f.Context()))
	}
}

func allowedWhileFilled(f *fixture) {
	other := f.sys.Open(f)
	f.reload(f.d)
	for _, d := range []engine.Dispatcher{f.d, other} {
		for verb, err := range fillers(f, d) {
			if err != nil {
				f.Errorf("%s: %v", verb, err)
			}
		}
	}
	f.ok(f.d.Loaded(f.Context()))
	f.ok(f.d.Check(f.Context()))
	f.same("claimed", numbered(1), ids(f.claims(claim(5))[0]))
}

func beginsEmpty(f *fixture) {
	f.started(1)
	f.offer(steps(2, 50)...)
	f.reload(f.d)
	f.ok(f.d.Loaded(f.Context()))
	gone, err := f.d.Missing(f.Context(), steps(1, 50))
	f.ok(err)
	f.same("missing", 50, len(gone))
	f.same("claimed", 0, len(f.claims(claim(5))[0]))
	for what, ask := range map[string]func() ([]engine.Hold, error){
		"held":    func() ([]engine.Hold, error) { return f.d.HeldBy(f.Context(), worker, 5) },
		"expired": func() ([]engine.Hold, error) { return f.d.Expired(f.Context(), start+100*minute, 5) },
	} {
		holds, err := ask()
		f.ok(err)
		f.same(what, 0, len(holds))
	}
}

// Of many processes that find the content lost, one fills the server, once.
func twoAtOnce(f *fixture) {
	f.reload(f.d) // as if this process died with it
	var all []engine.Dispatcher
	for range callers {
		all = append(all, f.sys.Open(f))
	}
	f.ok(f.d.Loaded(f.Context()))
	for _, d := range all {
		f.ok(d.Check(f.Context()))
	}
	var mine [callers]bool
	var errs [callers]error
	together(func(i int) { mine[i], errs[i] = all[i].Reload(f.Context(), turn) })
	var filler engine.Dispatcher
	for i := range all {
		f.ok(errs[i])
		if mine[i] {
			if filler != nil {
				f.Fatal("two processes have the turn")
			}
			filler = all[i]
		}
	}
	if filler == nil {
		f.Fatal("nobody has the turn")
	}
	f.ok(filler.Offer(f.Context(), steps(1, 3)))
	f.ok(filler.Loaded(f.Context()))
	for _, d := range all {
		if d == filler {
			continue
		}
		mine, err := d.Reload(f.Context(), turn) // it comes late
		f.ok(err)
		if mine {
			f.Fatal("it was filled twice")
		}
	}
	f.same("claimed", 3, len(claimAt(f, filler, start, claim(5))[0]))
}

// A process that died while filling the dispatcher blocks nobody.
func turnRunsOut(f *fixture) {
	slow := f.sys.Open(f)
	f.ok(slow.Check(f.Context()))
	mine, err := slow.Reload(f.Context(), time.Millisecond)
	f.ok(err)
	f.same("the turn", true, mine)
	await.Until(f, "the turn runs out", func() bool {
		mine, err := f.d.Reload(f.Context(), turn)
		f.ok(err)
		return mine
	})
	f.offer(step(1))
	f.lost("Loaded", slow.Loaded(f.Context()))
	f.ok(f.d.Loaded(f.Context()))
	f.same("claimed", 1, len(f.claims(claim(5))[0]))
}

// A filling process gets more time by another Reload, and loses nothing.
func fillingGoesOn(f *fixture) {
	f.reload(f.d)
	f.offer(steps(1, 3)...)
	f.lost("Check", f.d.Check(f.Context())) // as its other goroutines hear meanwhile
	f.reload(f.d)
	f.offer(steps(4, 5)...)
	f.ok(f.d.Loaded(f.Context()))
	f.same("claimed", numbered(1, 2, 3, 4, 5), ids(f.claims(claim(9))[0]))
}

// A filling process has read a step that another process ran meanwhile, and that waits for a later retry with more
// time: a claim gets the new state.
func readBefore(f *fixture) {
	other := f.sys.Open(f)
	f.reload(f.d)
	f.offer(step(1))
	f.ok(other.Offer(f.Context(), []engine.Offered{later(1)}))
	f.offer(step(1))
	f.ok(f.d.Loaded(f.Context()))
	h := f.one(claim(1))
	f.same("key", int64(99), h.Key)
	f.same("time-out", 2*time.Minute, h.Timeout)
}

// A process that was too slow must not continue: its offers may be gone.
func ranOutMeanwhile(f *fixture) {
	mine, err := f.d.Reload(f.Context(), time.Millisecond)
	f.ok(err)
	f.same("the turn", true, mine)
	await.Until(f, "the turn runs out", func() bool {
		return errors.Is(f.d.Remove(f.Context(), nil), engine.ErrDispatchLost) || !f.extended(time.Millisecond)
	})
	f.lost("Loaded", f.d.Loaded(f.Context()))
	f.reload(f.d)
	f.ok(f.d.Loaded(f.Context()))
}

// extended reports whether filling may continue.
func (f *fixture) extended(hold time.Duration) bool {
	mine, err := f.d.Reload(f.Context(), hold)
	f.ok(err)
	return mine
}

func turnOfAnother(f *fixture) {
	f.lost("Loaded without Reload", f.d.Loaded(f.Context()))
	f.reload(f.d)
	other := f.sys.Open(f)
	mine, err := other.Reload(f.Context(), turn)
	f.ok(err)
	f.same("the turn of another", false, mine)
	f.lost("Loaded by another", other.Loaded(f.Context()))
	f.ok(f.d.Loaded(f.Context()))
	f.lost("Loaded again", f.d.Loaded(f.Context()))
	f.ok(f.d.Check(f.Context()))
}

// A process that relied on the old content learns of the loss once, and continues.
func othersLearnOnce(f *fixture) {
	other := f.sys.Open(f)
	f.ok(other.Check(f.Context()))
	f.reload(f.d)
	f.ok(f.d.Loaded(f.Context()))
	f.lost("Check", other.Check(f.Context()))
	mine, err := other.Reload(f.Context(), turn)
	f.ok(err)
	f.same("the turn", false, mine)
	f.ok(other.Check(f.Context()))
}

func otherVerbLearnsOnce(f *fixture) {
	other := f.sys.Open(f)
	f.ok(other.Check(f.Context()))
	f.reload(f.d)
	f.ok(f.d.Loaded(f.Context()))
	allLost(f, other)
	f.ok(other.Check(f.Context()))
	allWell(f, other)
}

// Complete content has a name, common to all processes and new after each filling. Nothing else has one.
func contentHasAName(f *fixture) {
	other := f.sys.Open(f)
	f.same("the content of a process that has not looked", "", other.Content())
	f.ok(other.Check(f.Context()))
	before := f.d.Content()
	f.same("the content of another process", before, other.Content())
	f.reload(f.d)
	f.same("the content while it is filled", "", f.d.Content())
	f.lost("Check", other.Check(f.Context()))
	f.same("the content of one who has heard that it is filled", "", other.Content())
	f.ok(f.d.Loaded(f.Context()))
	after := f.d.Content()
	f.same("a new name", true, after != "" && before != "" && after != before)
	f.ok(other.Check(f.Context()))
	f.same("the content of another process", after, other.Content())
}
