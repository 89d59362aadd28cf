package dispatchtest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
)

// likeTheModel applies the same random operations to a dispatcher and to the model, and compares the answers.
func likeTheModel(t *testing.T, sys System) {
	d := sys.Open(t)
	if err := d.Check(t.Context()); err == nil {
		t.Fatal("the content is not empty")
	}
	rapid.Check(t, func(rt *rapid.T) {
		real, model := open(t, d), open(t, memory.NewServer().Open())
		m := &machine{real: real, model: model}
		rt.Repeat(map[string]func(*rapid.T){
			"Offer":  m.offer,
			"Claim":  m.claim,
			"Start":  m.start,
			"Renew":  m.renew,
			"Remove": m.remove,
			"Wait":   func(rt *rapid.T) { m.now += task.Instant(rapid.Int64Range(1, int64(minute)).Draw(rt, "wait")) },
			"":       m.compare,
		})
	})
}

func open(t *testing.T, d engine.Dispatcher) *fixture {
	f := &fixture{TB: t, d: d}
	f.reload(d)
	f.ok(d.Loaded(t.Context()))
	return f
}

type machine struct {
	real, model *fixture
	now         task.Instant
	known       []engine.Hold // every hold that was ever answered
}

func both[T any](m *machine, verb string, ask func(engine.Dispatcher) (T, error)) T {
	want, err := ask(m.model.d)
	m.model.ok(err)
	got, err := ask(m.real.d)
	m.real.ok(err)
	m.real.same(verb, want, got)
	return want
}

// Few steps, routes and keys, so that they meet.
var (
	genStep   = rapid.IntRange(1, 12)
	genRoute  = rapid.Int64Range(1, 3)
	genKey    = rapid.OneOf(rapid.Int64Range(-2, 2), rapid.Int64())
	genToken  = rapid.Int64Range(0, 5)
	genWorker = rapid.Int64Range(1, 3)
)

func drawOffered(rt *rapid.T) engine.Offered {
	return engine.Offered{
		Step:     id(genStep.Draw(rt, "step")),
		Route:    genRoute.Draw(rt, "route"),
		Key:      genKey.Draw(rt, "key"),
		Timeout:  time.Duration(rapid.Int64Range(0, 100).Draw(rt, "timeout")) * time.Second,
		Token:    genToken.Draw(rt, "token"),
		Priority: rapid.IntRange(0, 100).Draw(rt, "priority"),
	}
}

func (m *machine) offer(rt *rapid.T) {
	list := rapid.SliceOfN(rapid.Custom(drawOffered), 0, 8).Draw(rt, "steps")
	both(m, "Offer", func(d engine.Dispatcher) (bool, error) { return true, d.Offer(m.real.Context(), list) })
}

func (m *machine) claim(rt *rapid.T) {
	claims := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) engine.Claim {
		return engine.Claim{
			Worker:   genWorker.Draw(rt, "worker"),
			Routes:   rapid.SliceOfNDistinct(genRoute, 0, 3, rapid.ID).Draw(rt, "routes"),
			Capacity: rapid.IntRange(0, 5).Draw(rt, "capacity"),
			Start:    rapid.Bool().Draw(rt, "start"),
			Until:    m.now + task.Instant(rapid.Int64Range(1, 90).Draw(rt, "until"))*second,
			Window:   rapid.IntRange(0, 60).Draw(rt, "window"),
			Token:    genToken.Draw(rt, "token"),
		}
	}), 0, 4).Draw(rt, "claims")
	answers := both(m, "Claim", func(d engine.Dispatcher) ([][]engine.Hold, error) {
		return d.Claim(m.real.Context(), claims, m.now)
	})
	for _, list := range answers {
		m.known = append(m.known, list...)
	}
}

// drawHold is a known lease, or one that never existed.
func (m *machine) drawHold(rt *rapid.T) engine.Hold {
	if n := rapid.IntRange(0, len(m.known)).Draw(rt, "hold"); n < len(m.known) {
		return m.known[n]
	}
	return engine.Hold{Offered: drawOffered(rt), Worker: genWorker.Draw(rt, "worker")}
}

func (m *machine) drawHolds(rt *rapid.T) []engine.Hold {
	list := make([]engine.Hold, rapid.IntRange(0, 5).Draw(rt, "holds"))
	for i := range list {
		list[i] = m.drawHold(rt)
	}
	return list
}

func (m *machine) start(rt *rapid.T) {
	holds := m.drawHolds(rt)
	refs := make([]engine.LeaseRef, len(holds))
	for i, h := range holds {
		refs[i] = ref(h)
	}
	m.known = append(m.known, both(m, "Start", func(d engine.Dispatcher) ([]engine.Hold, error) {
		return d.Start(m.real.Context(), refs, m.now, m.now+30*second)
	})...)
}

func (m *machine) renew(rt *rapid.T) {
	holds := m.drawHolds(rt)
	renewals := make([]engine.Renewal, len(holds))
	for i, h := range holds {
		renewals[i].LeaseRef = ref(h)
		if rapid.Bool().Draw(rt, "progress") {
			renewals[i].Progress = &engine.Progress{Percent: rapid.IntRange(0, 100).Draw(rt, "percent"),
				Note: rapid.String().Draw(rt, "note")}
		}
	}
	m.known = append(m.known, both(m, "Renew", func(d engine.Dispatcher) ([]engine.Hold, error) {
		return d.Renew(m.real.Context(), renewals, m.now+30*second)
	})...)
}

func (m *machine) remove(rt *rapid.T) {
	var list []engine.Removal
	for _, h := range m.drawHolds(rt) {
		list = append(list, engine.Removal{Offered: h.Offered, Left: rapid.Bool().Draw(rt, "left")})
	}
	both(m, "Remove", func(d engine.Dispatcher) (bool, error) { return true, d.Remove(m.real.Context(), list) })
}

func (m *machine) compare(*rapid.T) {
	ctx := m.real.Context()
	all := steps(1, 12)
	both(m, "Missing", func(d engine.Dispatcher) ([]engine.Offered, error) { return d.Missing(ctx, all) })
	both(m, "Waiting", func(d engine.Dispatcher) (map[int64]int, error) { return d.Waiting(ctx, []int64{1, 2, 3}) })
	both(m, "Depth", func(d engine.Dispatcher) (int, error) { return d.Depth(ctx, 1, 1, task.ID{}) })
	both(m, "Expired", func(d engine.Dispatcher) ([]engine.Hold, error) { return d.Expired(ctx, m.now, 100) })
	both(m, "Held", func(d engine.Dispatcher) (map[int64]int, error) { return d.Held(ctx) })
	for w := range int64(3) {
		both(m, "HeldBy", func(d engine.Dispatcher) ([]engine.Hold, error) { return d.HeldBy(ctx, w+1, 100) })
	}
}
