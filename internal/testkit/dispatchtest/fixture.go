package dispatchtest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	start  = task.Instant(1_795_000_000_000_000) // some day in 2026
	second = task.Instant(1_000_000)
	minute = 60 * second

	route  = int64(7)
	worker = int64(3)
	// turn is longer than any test.
	turn = time.Minute
)

type fixture struct {
	testing.TB
	sys System
	d   engine.Dispatcher
}

func newFixture(t testing.TB, sys System) *fixture {
	t.Helper()
	f := &fixture{TB: t, sys: sys, d: sys.Open(t)}
	f.reload(f.d)
	f.ok(f.d.Loaded(f.Context()))
	return f
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) lost(verb string, err error) {
	f.Helper()
	if !errors.Is(err, engine.ErrDispatchLost) {
		f.Fatalf("%s: %v, want %v", verb, err, engine.ErrDispatchLost)
	}
}

func (f *fixture) same(what string, want, got any) {
	f.Helper()
	if reflect.DeepEqual(want, got) { // much quicker, and the model compares often
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (f *fixture) reload(d engine.Dispatcher) {
	f.Helper()
	mine, err := d.Reload(f.Context(), turn)
	f.ok(err)
	if !mine {
		f.Fatal("Reload: another process has the turn")
	}
}

func id(n int) task.ID { return task.MakeID(int64(n), uint64(n)*0x9e3779b97f4a7c15) }

func step(n int) engine.Offered {
	return engine.Offered{Step: id(n), Route: route, Key: int64(n), Priority: 50, Timeout: time.Minute}
}

func steps(from, to int) []engine.Offered {
	var list []engine.Offered
	for n := from; n <= to; n++ {
		list = append(list, step(n))
	}
	return list
}

func (f *fixture) offer(list ...engine.Offered) {
	f.Helper()
	f.ok(f.d.Offer(f.Context(), list))
}

func claim(capacity int) engine.Claim {
	return engine.Claim{Worker: worker, Routes: []int64{route}, Capacity: capacity, Until: start + 30*second}
}

func (f *fixture) claims(list ...engine.Claim) [][]engine.Hold {
	f.Helper()
	return claimAt(f, f.d, start, list...)
}

func claimAt(f *fixture, d engine.Dispatcher, now task.Instant, list ...engine.Claim) [][]engine.Hold {
	f.Helper()
	holds, err := d.Claim(f.Context(), list, now)
	f.ok(err)
	if len(holds) != len(list) {
		f.Fatalf("Claim: %d answers to %d claims", len(holds), len(list))
	}
	return holds
}

func (f *fixture) one(c engine.Claim) engine.Hold {
	f.Helper()
	holds := f.claims(c)[0]
	if len(holds) != 1 {
		f.Fatalf("Claim: %d steps, want 1", len(holds))
	}
	return holds[0]
}

// started offers a step and claims it with a start.
func (f *fixture) started(n int) engine.Hold {
	f.Helper()
	f.offer(step(n))
	c := claim(1)
	c.Start, c.Until = true, start+90*second
	return f.one(c)
}

func (f *fixture) find(n int) engine.Hold {
	f.Helper()
	return findIn(f, f.d, n)
}

func findIn(f *fixture, d engine.Dispatcher, n int) engine.Hold {
	f.Helper()
	holds, err := d.Find(f.Context(), []task.ID{id(n)})
	f.ok(err)
	if len(holds) != 1 {
		f.Fatalf("Find: %d answers to 1 step", len(holds))
	}
	return holds[0]
}

func ref(h engine.Hold) engine.LeaseRef { return engine.LeaseRef{Step: h.Step, Token: h.Token} }

func ids(holds []engine.Hold) []task.ID {
	list := make([]task.ID, len(holds))
	for i, h := range holds {
		list[i] = h.Step
	}
	return list
}

func numbered(ns ...int) []task.ID {
	list := make([]task.ID, len(ns))
	for i, n := range ns {
		list[i] = id(n)
	}
	return list
}
