package scenario_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store/memstore"
	"github.com/taskerhq/tasker/internal/task"
)

// TestNobodyStarves draws priorities, capabilities and times, and holds every claim in
// every mode to what the guarantees promise: nobody gets what he cannot do, first come first
// served within a level, and nobody is overtaken by who came later than the bound
// allows.
func TestNobodyStarves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newCrowd(t, rt)
		rt.Repeat(map[string]func(*rapid.T){
			"Submit": m.submit, "Claim": m.claim, "Wait": m.wait, "WaitLong": m.waitLong,
		})
		m.emptyQueue(rt)
	})
}

// crowd is a world in which many wait, and what is known of them.
type crowd struct {
	*world
	workers  []task.ID
	can      [][]string // capabilities by worker
	waiting  map[task.ID]waiter
	promoted task.Instant // when somebody looked last for those who have waited too long
}

type waiter struct {
	level int
	ready task.Instant
	needs []string
}

var capabilitySets = [][]string{nil, {"a"}, {"b"}, {"a", "b"}}

func newCrowd(t *testing.T, rt *rapid.T) *crowd {
	minutes := func(name string, from int) time.Duration {
		return time.Duration(rapid.IntRange(from, 40).Draw(rt, name)) * time.Minute
	}
	cfg := engine.Config{Scheduling: engine.Scheduling{
		Mode:           rapid.SampledFrom([]task.SchedulingMode{task.Strict, task.Promote, task.Aging}).Draw(rt, "mode"),
		LowToMedium:    minutes("low_to_medium", 1),
		AgingWeight:    time.Duration(rapid.IntRange(1, 60).Draw(rt, "weight")) * time.Second,
		MaxWait:        rapid.SampledFrom([]time.Duration{-1, 3 * time.Minute, 25 * time.Minute, 0}).Draw(rt, "max_wait"),
		PromotionBatch: 2, HighPromotionBatch: 1,
		FairnessWindow: rapid.SampledFrom([]int{0, 0, 10, 50}).Draw(rt, "window"),
	}}
	cfg.Scheduling.MediumToHigh = cfg.Scheduling.LowToMedium + minutes("more", 0)
	s := memstore.New(nil)
	w, err := newWorld(t, s, func() engine.Store { return s }, cfg)
	if err != nil {
		rt.Fatal(err)
	}
	m := &crowd{world: w, can: capabilitySets, waiting: map[task.ID]waiter{}, promoted: task.At(w.now)}
	for i, caps := range capabilitySets {
		reg, err := w.engine.Register(w.ctx, task.Worker{Name: fmt.Sprint("w", i), Capabilities: caps})
		if err != nil {
			rt.Fatal(err)
		}
		m.workers = append(m.workers, reg.ID)
	}
	return m
}

func (m *crowd) submit(rt *rapid.T) {
	level := rapid.SampledFrom([]int{0, 25, 40, 50, 60, 75, 90, 100}).Draw(rt, "level")
	needs := rapid.SampledFrom(capabilitySets).Draw(rt, "needs")
	subs := make([]engine.Submission, rapid.IntRange(1, 5).Draw(rt, "n"))
	for i := range subs {
		subs[i] = engine.Submission{TaskType: "job", Priority: fmt.Sprint(level), Capabilities: needs}
	}
	receipts, err := m.engine.Submit(m.ctx, subs, false)
	if err != nil {
		rt.Fatal(err)
	}
	for _, r := range receipts {
		m.waiting[r.ID] = waiter{level, task.At(m.now), needs}
	}
}

func (m *crowd) wait(rt *rapid.T) {
	m.pass(rt, time.Duration(rapid.IntRange(0, 90_000).Draw(rt, "ms"))*time.Millisecond)
}

func (m *crowd) waitLong(rt *rapid.T) {
	m.pass(rt, time.Duration(rapid.IntRange(1, 30).Draw(rt, "minutes"))*time.Minute)
}

// pass lets time pass, and looks in the promotion's rhythm for who has waited too long.
func (m *crowd) pass(rt *rapid.T, d time.Duration) {
	end := m.now.Add(d)
	for next := m.promoted.Add(time.Minute); next <= task.At(end); next = next.Add(time.Minute) {
		m.now, m.promoted = next.Time(), next
		stretches, err := m.engine.Overdue(m.ctx)
		if err != nil {
			rt.Fatal(err)
		}
		for _, s := range stretches {
			for more := true; more; {
				if _, more, err = m.engine.Promote(m.ctx, s); err != nil {
					rt.Fatal(err)
				}
			}
		}
	}
	m.now = end
}

func (m *crowd) claim(rt *rapid.T) {
	i := rapid.IntRange(0, len(m.workers)-1).Draw(rt, "worker")
	m.take(rt, i, rapid.IntRange(1, 8).Draw(rt, "capacity"), rapid.Bool().Draw(rt, "release"))
}

// take claims, checks what came, and completes it or gives it back.
func (m *crowd) take(rt *rapid.T, worker, capacity int, release bool) int {
	servable := 0
	for _, x := range m.waiting {
		if m.serves(worker, x) {
			servable++
		}
	}
	leases, _, err := m.engine.Poll(m.ctx, m.workers[worker], capacity, 0, true)
	if err != nil {
		rt.Fatal(err)
	}
	window := m.cfg.Scheduling.FairnessWindow
	if want := min(capacity, servable); window == 0 && len(leases) != want || len(leases) > want || want > 0 && len(leases) == 0 {
		rt.Fatalf("a worker with capacity %d got %d steps of %d", capacity, len(leases), servable)
	}
	lowest, highest := task.MaxPriority, 0
	var results []engine.Result
	var taken []waiter
	for _, l := range leases {
		got, ok := m.waiting[l.Task.ID]
		if !ok || !m.serves(worker, got) {
			rt.Fatalf("a worker that can do %v got a step that needs %v (it waits: %v)", m.can[worker], got.needs, ok)
		}
		delete(m.waiting, l.Task.ID)
		m.fair(rt, worker, got)
		taken = append(taken, got)
		lowest, highest = min(lowest, got.level), max(highest, got.level)
		r := engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}
		if release {
			r.Status = engine.ResultReleased
		}
		results = append(results, r)
	}
	if window > 0 && highest-lowest > window {
		rt.Fatalf("a batch has levels from %d to %d; the window is %d", lowest, highest, window)
	}
	if len(results) == 0 {
		return 0
	}
	if _, err := m.engine.Settle(m.ctx, results); err != nil {
		rt.Fatal(err)
	}
	if release { // a new wait
		for i, l := range leases {
			taken[i].ready = task.At(m.now)
			m.waiting[l.Task.ID] = taken[i]
		}
	}
	return len(leases)
}

func (m *crowd) serves(worker int, x waiter) bool {
	return !slices.ContainsFunc(x.needs, func(c string) bool { return !slices.Contains(m.can[worker], c) })
}

// fair checks that nobody who still waits, and whom the worker could have served, should
// have gone first.
func (m *crowd) fair(rt *rapid.T, worker int, got waiter) {
	order := m.engine.Order()
	late := m.cfg.Scheduling.PromotionInterval
	if late == 0 {
		late = time.Minute
	}
	if order.Mode == task.Aging {
		late = 0 // the bound is in the keys
	}
	for _, x := range m.waiting {
		if !m.serves(worker, x) {
			continue
		}
		if x.level == got.level && x.ready < got.ready {
			rt.Fatalf("level %d: what was ready at %s went before what was at %s", x.level, m.sinceStart(got.ready), m.sinceStart(x.ready))
		}
		if most, bounded := order.Overtaken(x.level, got.level); bounded && got.ready > x.ready.Add(most+late) {
			rt.Fatalf("%s: level %d, ready at %s, went before level %d, ready at %s; the bound is %v", order.Mode,
				got.level, m.sinceStart(got.ready), x.level, m.sinceStart(x.ready), most+late)
		}
	}
}

// emptyQueue takes what is left: all of it comes.
func (m *crowd) emptyQueue(rt *rapid.T) {
	all := len(m.workers) - 1 // can do everything
	for len(m.waiting) > 0 {
		m.take(rt, all, 8, false)
	}
}
