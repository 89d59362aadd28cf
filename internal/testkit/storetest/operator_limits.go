package storetest

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

func operatorLimitCases() []testCase {
	return []testCase{
		{"StoredByTarget", limitStored},
		{"DroppedOnceEnded", limitsDropped},
		{"Permits", limitPermits},
		{"Stray", limitStray},
	}
}

// limit stores an operator's limit and returns it.
func (f *fixture) limit(l task.OperatorLimit) task.OperatorLimit {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.OperatorLimitStore().SaveLimit(ctx, tx, &l)
	})
	return l
}

func limitStored(f *fixture) {
	a := f.limit(task.OperatorLimit{PauseTarget: shop(task.PauseHandler, "charge", ""), Permits: 5, Actor: "ann",
		Reason: "ä \u2028 \"'\n", At: f.now, ChangedAt: f.now + 1})
	b := f.limit(task.OperatorLimit{PauseTarget: shop(task.PauseRoute, "charge", "gpu"), Actor: "bob", At: f.now,
		ChangedAt: f.now, Rate: limit.Rate{Count: 3, Per: 2500 * time.Millisecond, Burst: 7}, Bucket: 1 << 60})
	gone := f.limit(task.OperatorLimit{PauseTarget: shop(task.PauseRoute, "a", ""), Permits: 1, Actor: "bob", At: f.now,
		ChangedAt: f.now, EndedAt: f.now, EndedBy: "eve", EndReason: "over"})
	store := f.store.OperatorLimitStore()
	list, err := store.OperatorLimits(f.Context(), 10)
	f.must(err)
	f.equal("all", list, []task.OperatorLimit{a, b, gone})
	list, err = store.OperatorLimits(f.Context(), 1)
	f.must(err)
	f.equal("bounded", list, []task.OperatorLimit{a})
	list, err = store.FindLimits(f.Context(), []int64{b.LimitNo(), 1})
	f.must(err)
	f.equal("found", list, []task.OperatorLimit{b})
	a.Permits, a.Reason, a.Bucket = 6, "", 7
	f.limit(a)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		list, err := store.LockLimits(ctx, tx, []int64{b.LimitNo(), a.LimitNo(), gone.LimitNo(), a.LimitNo()})
		f.equal("number", len(list), 3)
		for i, l := range list {
			if i > 0 && list[i-1].LimitNo() >= l.LimitNo() {
				f.Error("the limits are not in the order of their numbers")
			}
			if l.PauseTarget == a.PauseTarget {
				f.equal("changed", l, a)
			}
		}
		return err
	})
}

func limitsDropped(f *fixture) {
	for i := range task.Instant(4) {
		f.limit(task.OperatorLimit{PauseTarget: shop(task.PauseHandler, string(rune('a'+i)), ""), Permits: 1, EndedAt: i})
	}
	dropped := func(before task.Instant, limit int) (n int) {
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			n, err = f.store.OperatorLimitStore().DropLimits(ctx, tx, before, limit)
			return err
		})
		return n
	}
	f.equal("bounded", dropped(3, 1), 1)
	f.equal("rest", dropped(3, 9), 1)
	list, err := f.store.OperatorLimitStore().OperatorLimits(f.Context(), 9)
	f.must(err)
	if len(list) != 2 || list[0].Name != "a" || list[1].Name != "d" {
		f.Errorf("left are %v", list)
	}
}

func (f *fixture) hold(j job) {
	f.Helper()
	f.moveAt(j, f.now, func(s *task.Step) error { return s.Claim(1, f.now, f.now.Add(time.Minute)) })
}

// Only leased steps of the routes get a permit; an existing one stays.
func limitPermits(f *fixture) {
	a, b, ready := f.one(), f.one(), f.one()
	f.hold(a)
	f.hold(b)
	store, no := f.store.OperatorLimitStore(), shop(task.PauseHandler, "h", "").LimitNo()
	route := ready.steps[0].RouteID
	for _, routes := range [][]int64{{route + 1000}, {route}, {route, route + 1000}} {
		f.write(func(ctx context.Context, tx engine.Tx) error { return store.AdoptPermits(ctx, tx, no, routes) })
		held, err := store.HeldPermits(f.Context(), []int64{no, no + 1})
		f.must(err)
		if routes[0] == route {
			f.equal("held", held, map[int64]int{no: 2})
		} else {
			f.equal("held", held, map[int64]int{})
		}
	}
	f.permit(engine.Permit{Gate: 7, Step: a.steps[0].ID})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return store.DropPermits(ctx, tx, []engine.Permit{{Gate: no, Step: a.steps[0].ID}})
	})
	gates, err := f.store.GateStore().PermitsOf(f.Context(), a.steps[0].ID)
	f.must(err)
	f.equal("permits", gates, []int64{7})
	f.write(func(ctx context.Context, tx engine.Tx) error { return store.DropPermitsOf(ctx, tx, no) })
	held, err := store.HeldPermits(f.Context(), []int64{no, 7})
	f.must(err)
	f.equal("held", held, map[int64]int{7: 1})
}

// A permit of an operator's limit signals no gate, and is stray unless its step is leased.
func limitStray(f *fixture) {
	a, ready, done := f.one(), f.one(), f.one()
	f.hold(a)
	f.finish(done, f.now)
	no := shop(task.PauseHandler, "h", "").LimitNo()
	f.permit(engine.Permit{Gate: no, Step: a.steps[0].ID}, engine.Permit{Gate: no, Step: ready.steps[0].ID},
		engine.Permit{Gate: no, Step: done.steps[0].ID}, engine.Permit{Gate: 3, Step: ready.steps[0].ID})
	stray, _, err := f.store.GateStore().StrayPermits(f.Context(), engine.Permit{Gate: no - 1}, 9)
	f.must(err)
	f.equal("stray", stray, []engine.Permit{{Gate: no, Step: ready.steps[0].ID}, {Gate: no, Step: done.steps[0].ID}})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.GateStore().FreePermits(ctx, tx, []task.ID{a.steps[0].ID})
	})
	f.equal("signalled", f.signalled(f.now), false)
}
