package storetest

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

func gateCases() []testCase {
	return []testCase{
		{"Signals", gateSignals},
		{"Definitions", gateDefinitions},
		{"Permits", gatePermits},
		{"Passes", gatePasses},
		{"FirstParked", gateFirstParked},
		{"Due", gateDue},
		{"Refund", gateRefund},
		{"Idle", gateIdle},
		{"Stray", gateStray},
		{"Many", gateMany},
	}
}

func gate(no int64, permits int) engine.Gate {
	return engine.Gate{No: no, Namespace: "default", Name: "concurrency of step a/b", Key: "customer=42", Permits: permits,
		Rev: 1}
}

func (f *fixture) signal(gates ...engine.Gate) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.GateStore().Signal(ctx, tx, gates) })
}

func (f *fixture) takeSignals(at task.Instant, limit int) (gates []engine.Gate, taken int) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		gates, taken, err = f.store.GateStore().TakeSignals(ctx, tx, at, limit)
		return err
	})
	return gates, taken
}

func (f *fixture) signalled(at task.Instant) bool {
	f.Helper()
	some, err := f.store.GateStore().Signalled(f.Context(), at)
	f.must(err)
	return some
}

func gateSignals(f *fixture) {
	f.equal("signalled", f.signalled(f.now), false)
	rate := limit.Rate{Count: 3, Per: 2500 * time.Millisecond, Burst: 7}
	other := engine.Gate{No: 1<<61 - 1, Namespace: "n", Name: "rate of x", Rate: rate, Rev: 5}
	f.signal(gate(2, 3), other, gate(2, 3), engine.Gate{No: 99})
	f.equal("signalled", f.signalled(f.now), true)
	gates, taken := f.takeSignals(f.now, 3)
	f.equal("taken", taken, 3)
	f.equal("gates", gates, []engine.Gate{gate(2, 3), other})
	gates, taken = f.takeSignals(f.now, 3)
	f.equal("a signal of a gate that does not exist", len(gates), 0)
	f.equal("taken", taken, 1)
	f.equal("signalled", f.signalled(f.now), false)
	// A failed transaction returns the signals that it took.
	f.signal(engine.Gate{No: 2})
	f.fail(func(ctx context.Context, tx engine.Tx) error {
		_, _, err := f.store.GateStore().TakeSignals(ctx, tx, f.now, 10)
		return err
	})
	gates, _ = f.takeSignals(f.now, 10)
	f.equal("gates", gates, []engine.Gate{gate(2, 3)})
}

// The later of two definitions is in force, in any order of the signals.
func gateDefinitions(f *fixture) {
	first, second := gate(7, 1), gate(7, 0)
	second.Rate, second.Rev = limit.Rate{Count: 1, Per: time.Second, Burst: 1}, 2
	f.signal(second, first)
	gates, _ := f.takeSignals(f.now, 10)
	f.equal("gates", gates, []engine.Gate{second})
	third := gate(7, 9)
	third.Rev, third.Bucket, third.NextAt = 3, 5, f.now
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.GateStore().SaveGates(ctx, tx, []engine.Gate{third})
	})
	f.signal(second)
	gates, _ = f.takeSignals(f.now, 10)
	f.equal("gates", gates, []engine.Gate{third})
	found, err := f.store.GateStore().FindGate(f.Context(), 7)
	f.must(err)
	f.equal("found", found, &third)
	found, err = f.store.GateStore().FindGate(f.Context(), 8)
	f.must(err)
	f.equal("unknown", found, (*engine.Gate)(nil))
	list, err := f.store.GateStore().ListGates(f.Context(), engine.GateFilter{Namespace: "default", Name: third.Name})
	f.must(err)
	f.equal("list", list, []engine.GateView{{Gate: third}})
	for _, none := range []engine.GateFilter{{Namespace: "other"}, {Name: "other"}, {Behind: 7}} {
		list, err := f.store.GateStore().ListGates(f.Context(), none)
		f.must(err)
		f.equal("list of others", len(list), 0)
	}
}

func (f *fixture) permit(permits ...engine.Permit) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.GateStore().AddPermits(ctx, tx, permits) })
}

func gatePermits(f *fixture) {
	a, b := f.one(), f.one()
	s, t := a.steps[0].ID, b.steps[0].ID
	f.signal(gate(1, 2), gate(2, 2))
	f.takeSignals(f.now, 10)
	f.permit(engine.Permit{Gate: 1, Step: s}, engine.Permit{Gate: 2, Step: s}, engine.Permit{Gate: 1, Step: t})
	f.permit(engine.Permit{Gate: 1, Step: s})
	count := func(want map[int64]int) {
		f.Helper()
		f.write(func(ctx context.Context, tx engine.Tx) error {
			held, err := f.store.GateStore().CountPermits(ctx, tx, []int64{1, 2, 3})
			f.equal("held", held, want)
			return err
		})
	}
	count(map[int64]int{1: 2, 2: 1})
	of, err := f.store.GateStore().PermitsOf(f.Context(), s)
	f.must(err)
	f.equal("permits of a step", of, []int64{1, 2})
	holders, err := f.store.GateStore().Holders(f.Context(), 1, 5)
	f.must(err)
	f.equal("holders", holders, []task.ID{a.task.ID, b.task.ID})

	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.GateStore().FreePermits(ctx, tx, []task.ID{s, task.MakeID(1<<40, 1)})
	})
	count(map[int64]int{1: 1})
	gates, taken := f.takeSignals(f.now, 10)
	f.equal("signals of freed permits", taken, 2)
	one, two := gate(1, 2), gate(2, 2)
	one.Freed, two.Freed = 1, 1
	f.equal("their gates", gates, []engine.Gate{one, two})
}

// The permits of rates are freed separately, and counted until the signal is taken.
func gatePasses(f *fixture) {
	a, b, c := f.one().steps[0].ID, f.one().steps[0].ID, f.one().steps[0].ID
	rate := gate(2, 0)
	rate.Rate = limit.Rate{Count: 1, Per: time.Second, Burst: 4}
	f.signal(gate(1, 3), rate)
	f.takeSignals(f.now, 10)
	f.permit(engine.Permit{Gate: 1, Step: a}, engine.Permit{Gate: 2, Step: a}, engine.Permit{Gate: 2, Step: b},
		engine.Permit{Gate: 2, Step: c})
	count := func(what string, want map[int64]int) {
		f.Helper()
		f.write(func(ctx context.Context, tx engine.Tx) error {
			held, err := f.store.GateStore().CountPasses(ctx, tx, []int64{2})
			f.equal(what, held, want)
			return err
		})
	}
	count("before", map[int64]int{2: 3})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.GateStore().FreePasses(ctx, tx, []task.ID{a, b})
	})
	count("freed and not told", map[int64]int{2: 3})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		_, err := f.store.GateStore().DropIdle(ctx, tx, f.now, 0, 10)
		return err
	})
	of, err := f.store.GateStore().PermitsOf(f.Context(), a)
	f.must(err)
	f.equal("permits that stay", of, []int64{1})
	gates, _ := f.takeSignals(f.now, 10)
	rate.Freed = 2
	f.equal("told", gates, []engine.Gate{rate})
	count("told", map[int64]int{2: 1})
}

func gateFirstParked(f *fixture) {
	var jobs []job
	for i, no := range []int64{1, 1, 1, 2} {
		j := f.keyed("a", int64(i))
		f.must(j.steps[0].Park(task.ParkedLimit(no), task.Scheduling{}))
		j.steps[0].Key = int64(10 - i)
		jobs = append(jobs, j)
	}
	f.insert(jobs...)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		first, err := f.store.GateStore().FirstParked(ctx, tx, []engine.GateRoom{{Gate: 1, Steps: 2}, {Gate: 2, Steps: 5},
			{Gate: 3, Steps: 1}})
		f.equal("first", first, []engine.Permit{{Gate: 1, Step: jobs[2].steps[0].ID}, {Gate: 1, Step: jobs[1].steps[0].ID},
			{Gate: 2, Step: jobs[3].steps[0].ID}})
		return err
	})
	f.signal(gate(1, 2), gate(2, 2))
	f.takeSignals(f.now, 10)
	list, err := f.store.GateStore().ListGates(f.Context(), engine.GateFilter{Counted: 2})
	f.must(err)
	stalled, last, err := f.store.GateStore().StalledGates(f.Context(), 0, 1)
	f.must(err)
	f.equal("stalled", stalled, []int64{1})
	f.permit(engine.Permit{Gate: 2, Step: jobs[0].steps[0].ID}, engine.Permit{Gate: 2, Step: jobs[1].steps[0].ID})
	stalled, last, err = f.store.GateStore().StalledGates(f.Context(), last, 5)
	f.must(err)
	f.equal("stalled", len(stalled), 0)
	f.equal("end", last, int64(0))
	f.equal("waiting", []int{list[0].Waiting, list[1].Waiting}, []int{2, 1})
}

// A gate is due again at its time.
func gateDue(f *fixture) {
	g := gate(4, 0)
	g.Rate = limit.Rate{Count: 1, Per: time.Second, Burst: 1}
	f.signal(g)
	f.takeSignals(f.now, 10)
	g.NextAt = f.now.Add(time.Second)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.GateStore().SaveGates(ctx, tx, []engine.Gate{g})
	})
	next, err := f.store.GateStore().NextGate(f.Context())
	f.must(err)
	f.equal("the next time", next, g.NextAt)
	f.equal("before", f.signalled(g.NextAt-1), false)
	f.equal("at its time", f.signalled(g.NextAt), true)
	gates, taken := f.takeSignals(g.NextAt, 10)
	f.equal("gates", gates, []engine.Gate{g})
	f.equal("taken", taken, 0)
}

// Only gates without steps and permits, with a rested rate, are deleted.
func gateIdle(f *fixture) {
	j := f.keyed("a", 1)
	f.must(j.steps[0].Park(task.ParkedLimit(2), task.Scheduling{}))
	f.insert(j)
	f.signal(gate(1, 1), gate(2, 1), gate(3, 1), gate(4, 1), gate(5, 1), gate(6, 1))
	gates, _ := f.takeSignals(f.now, 10)
	gates[2].NextAt = f.now
	gates[3].Bucket = limit.Bucket(int64(f.now)*1000 + 1)
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.GateStore().SaveGates(ctx, tx, gates) })
	f.permit(engine.Permit{Gate: 5, Step: j.steps[0].ID})
	drop := func(after int64, limit int) (last int64) {
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			last, err = f.store.GateStore().DropIdle(ctx, tx, f.now, after, limit)
			return err
		})
		return last
	}
	parked, err := f.store.GateStore().CountParked(f.Context(), 10)
	f.must(err)
	f.equal("parked", parked, 1)
	f.equal("first page", drop(0, 5), int64(5))
	f.equal("second page", drop(5, 5), int64(0))
	list, err := f.store.GateStore().ListGates(f.Context(), engine.GateFilter{})
	f.must(err)
	var left []int64
	for _, v := range list {
		left = append(left, v.No)
	}
	f.equal("left", left, []int64{2, 3, 4, 5})
}

// Permits of steps that are neither ready nor leased are stray.
func gateStray(f *fixture) {
	a, b := f.one(), f.one()
	f.finish(b, f.now)
	gone := f.store.IDs().Take(f.now.Time(), 1)
	f.permit(engine.Permit{Gate: 1, Step: a.steps[0].ID}, engine.Permit{Gate: 1, Step: b.steps[0].ID},
		engine.Permit{Gate: 2, Step: gone})
	stray, last, err := f.store.GateStore().StrayPermits(f.Context(), engine.Permit{}, 2)
	f.must(err)
	f.equal("stray", stray, []engine.Permit{{Gate: 1, Step: b.steps[0].ID}})
	stray, last, err = f.store.GateStore().StrayPermits(f.Context(), last, 2)
	f.must(err)
	f.equal("stray", stray, []engine.Permit{{Gate: 2, Step: gone}})
	f.equal("end", last, engine.Permit{})
}

func gateMany(f *fixture) {
	var gates []engine.Gate
	for i := range 1500 {
		gates = append(gates, gate(int64(i+1), 1))
	}
	f.signal(gates...)
	got, taken := f.takeSignals(f.now, 2000)
	f.equal("taken", taken, 1500)
	f.equal("gates", got, gates)
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.GateStore().SaveGates(ctx, tx, gates) })
}

// An unused pass returns to the bucket of its rate, and its permit is gone.
func gateRefund(f *fixture) {
	j := f.one()
	g := gate(4, 0)
	g.Rate = limit.Rate{Count: 1, Per: time.Hour, Burst: 1}
	f.signal(g, gate(5, 1))
	f.takeSignals(f.now, 10)
	g.Bucket = g.Rate.Take(0, int64(f.now)*1000, 2)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.GateStore().SaveGates(ctx, tx, []engine.Gate{g})
	})
	pass, other := engine.Permit{Gate: 4, Step: j.steps[0].ID}, engine.Permit{Gate: 5, Step: j.steps[0].ID}
	f.permit(pass, other)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.GateStore().Refund(ctx, tx, []engine.Pass{{Permit: pass, Cost: g.Rate.Cost()}})
	})
	g.Bucket = g.Rate.Take(0, int64(f.now)*1000, 1)
	gates, _ := f.takeSignals(f.now, 10)
	f.equal("gates", gates, []engine.Gate{g})
	left, err := f.store.GateStore().PermitsOf(f.Context(), j.steps[0].ID)
	f.must(err)
	f.equal("permits", left, []int64{5})
}
