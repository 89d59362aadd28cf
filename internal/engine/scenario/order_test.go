package scenario_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// TestNobodyStarves draws priorities, capabilities and times, lets workers complete, fail, return and lose steps, and
// checks every claim in every mode: a worker gets only what it can do, first come first served within a level, and
// nobody is overtaken beyond the bound. Failed and lost steps come back with the right time and priority. A failure
// prints the seed that repeats it (-rapid.seed).
func TestNobodyStarves(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{once, throughDispatcher(once)} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			rapid.Check(t, func(rt *rapid.T) {
				m := newCrowd(t, rt, k)
				rt.Repeat(map[string]func(*rapid.T){
					"Submit": m.submit, "Claim": m.claim, "ClaimMore": m.claim, "Wait": m.wait, "WaitLong": m.waitLong,
				})
				m.emptyQueue(rt)
				for what, n := range m.seen {
					seen[what] += n
				}
			})
			t.Logf("claimed steps by what became of them: %v", seen)
			for _, what := range ends {
				if seen[what] == 0 {
					t.Errorf("no step was ever %s", what)
				}
			}
		})
	}
}

type crowd struct {
	*world
	workers  []task.ID
	can      [][]string
	waiting  map[task.ID]waiter
	away     map[task.ID]waiter
	promoted task.Instant // the last look for steps that have waited too long
	seen     map[string]int
}

type waiter struct {
	own, level int
	ready      task.Instant
	born       task.Instant
	needs      []string
	failures   int
	inRow      int
	lost       task.Instant // when its lease is over, while it is held
	due        task.Instant // when it comes back, while it is put off
}

var capabilitySets = [][]string{nil, {"a"}, {"b"}, {"a", "b"}}

func newCrowd(t *testing.T, rt *rapid.T, k kind) *crowd {
	minutes := func(name string, from int) time.Duration {
		return time.Duration(rapid.IntRange(from, 40).Draw(rt, name)) * time.Minute
	}
	cfg := settings.Config{Scheduling: settings.Scheduling{
		Mode:           rapid.SampledFrom([]task.SchedulingMode{task.Strict, task.Promote, task.Aging}).Draw(rt, "mode"),
		LowToMedium:    minutes("low_to_medium", 1),
		AgingWeight:    time.Duration(rapid.IntRange(1, 60).Draw(rt, "weight")) * time.Second,
		MaxWait:        rapid.SampledFrom([]time.Duration{-1, 3 * time.Minute, 25 * time.Minute, 0}).Draw(rt, "max_wait"),
		PromotionBatch: 2, HighPromotionBatch: 1,
		FairnessWindow: rapid.SampledFrom([]int{0, 0, 10, 50}).Draw(rt, "window"),
	}}
	cfg.Scheduling.MediumToHigh = cfg.Scheduling.LowToMedium + minutes("more", 0)
	cfg.WorkerBreaker.Failures = -1 // failing workers get more
	cfg.StalenessThresholds = task.Thresholds{WaitingForDependencies: -1, WaitingForRetry: -1, StepsInProcess: -1}
	cfg.Recovery = settings.Recovery{
		BoostLevels:   rapid.IntRange(0, 2).Draw(rt, "boost"),
		RetryPriority: rapid.SampledFrom(settings.RetryPriorities).Draw(rt, "retry_priority"),
		Stagger:       rapid.SampledFrom([]time.Duration{-1, 0, time.Second}).Draw(rt, "stagger"),
		RequeueDelay:  rapid.SampledFrom([]time.Duration{0, 0, 5 * time.Second}).Draw(rt, "requeue_delay"),
	}
	cfg.Recovery.Limits.Worker = maxFailures - 1
	s, reopen := k.open(t)
	w, err := newWorld(t, s, reopen, cfg)
	if err != nil {
		rt.Fatal(err)
	}
	m := &crowd{world: w, can: capabilitySets, waiting: map[task.ID]waiter{}, away: map[task.ID]waiter{},
		promoted: task.At(w.now), seen: map[string]int{}}
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
	retries := maxFailures - 1
	for i := range subs {
		subs[i] = engine.Submission{TaskType: "job", Priority: fmt.Sprint(level), Capabilities: needs, MaxRetries: &retries}
	}
	receipts, err := m.engine.Submit(m.ctx, subs, false)
	if err != nil {
		rt.Fatal(err)
	}
	for _, r := range receipts {
		m.waiting[r.ID] = waiter{own: level, level: level, ready: task.At(m.now), born: task.At(m.now), needs: needs}
	}
}

func (m *crowd) wait(rt *rapid.T) {
	m.pass(rt, time.Duration(rapid.IntRange(0, 90_000).Draw(rt, "ms"))*time.Millisecond)
}

func (m *crowd) waitLong(rt *rapid.T) {
	m.pass(rt, time.Duration(rapid.IntRange(1, 30).Draw(rt, "minutes"))*time.Minute)
}

// pass runs the loops at its end and at the interval of promotions.
func (m *crowd) pass(rt *rapid.T, d time.Duration) {
	end := m.now.Add(d)
	for next := m.promoted.Add(time.Minute); next <= task.At(end); next = next.Add(time.Minute) {
		m.set(next.Time())
		m.promoted = next
		m.keepUp(rt)
	}
	m.set(end)
	m.keepUp(rt)
}

func (m *crowd) claim(rt *rapid.T) {
	i := rapid.IntRange(0, len(m.workers)-1).Draw(rt, "worker")
	m.take(rt, i, rapid.IntRange(1, 8).Draw(rt, "capacity"), rapid.SampledFrom(ends).Draw(rt, "end"))
}

func (m *crowd) take(rt *rapid.T, worker, capacity int, end string) {
	servable := 0
	for _, x := range m.waiting {
		if m.serves(worker, x) {
			servable++
		}
	}
	leases, _, err := m.engine.Poll(m.ctx, m.workers[worker], capacity, 0, end != notBegun)
	if err != nil {
		rt.Fatal(err)
	}
	window := m.cfg.Scheduling.FairnessWindow
	if want := min(capacity, servable); window == 0 && len(leases) != want || len(leases) > want ||
		want > 0 && len(leases) == 0 {
		rt.Fatalf("a worker with capacity %d got %d steps of %d", capacity, len(leases), servable)
	}
	lowest, highest := task.MaxPriority, 0
	taken := make([]waiter, len(leases))
	for i, l := range leases {
		got, ok := m.waiting[l.Task.ID]
		if !ok || !m.serves(worker, got) {
			rt.Fatalf("a worker that can do %v got a step that needs %v (it waits: %v)", m.can[worker], got.needs, ok)
		}
		delete(m.waiting, l.Task.ID)
		m.fair(rt, worker, got)
		taken[i] = got
		lowest, highest = min(lowest, got.level), max(highest, got.level)
	}
	if window > 0 && highest-lowest > window {
		rt.Fatalf("a batch has levels from %d to %d; the window is %d", lowest, highest, window)
	}
	m.seen[end] += len(leases)
	m.end(rt, leases, taken, end)
}

func (m *crowd) serves(worker int, x waiter) bool {
	return !slices.ContainsFunc(x.needs, func(c string) bool { return !slices.Contains(m.can[worker], c) })
}

// fair checks that no waiting step that the worker could have served should have gone first.
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
			rt.Fatalf("level %d: what was ready at %s went before what was at %s", x.level, m.sinceStart(got.ready),
				m.sinceStart(x.ready))
		}
		if most, bounded := order.Overtaken(x.level, got.level); bounded && got.ready > x.ready.Add(most+late) {
			rt.Fatalf("%s: level %d, ready at %s, went before level %d, ready at %s; the bound is %v", order.Mode,
				got.level, m.sinceStart(got.ready), x.level, m.sinceStart(x.ready), most+late)
		}
	}
}
