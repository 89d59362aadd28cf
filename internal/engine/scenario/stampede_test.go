package scenario_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store/memstore"
	"github.com/taskerhq/tasker/internal/task"
)

// TestStampede lets many producers, workers and an upkeep loop at one engine at
// once. Every task has to complete, every step to be completed once, and every
// second report of it to be refused.
func TestStampede(t *testing.T) {
	t.Parallel()
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			store, reopen := s.open(t)
			if s.name == "memstore" { // two runs of everything would only be slower
				store = memstore.New(nil)
			}
			w, err := newWorld(t, store, reopen, engine.Config{})
			if err != nil {
				t.Fatal(err)
			}
			w.stampede(t)
		})
	}
}

func (w *world) stampede(t *testing.T) {
	const producers, workers, batches, steps = 8, 8, 12, 4
	diamond := modelTemplates()[1]
	diamond.Lifecycle = task.Lifecycle{}
	if _, _, err := w.engine.RegisterTemplate(w.ctx, diamond); err != nil {
		t.Fatal(err)
	}
	const total = producers * batches * 2
	h := &herd{world: w, t: t, settled: map[task.ID]int{}}
	h.left.Store(total * steps)
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() { h.produce(p, batches) })
	}
	for n := range workers {
		all.Go(func() { h.work(rand.New(rand.NewPCG(uint64(n), 1))) })
	}
	all.Wait()
	if t.Failed() {
		return
	}
	if len(h.settled) != total*steps {
		t.Errorf("%d steps were completed of %d", len(h.settled), total*steps)
	}
	for id, n := range h.settled {
		if n != 1 {
			t.Errorf("step %s was completed %d times", id, n)
		}
	}
	done, _, err := w.engine.Tasks(w.ctx, engine.TaskFilter{States: []task.State{task.Complete}, Limit: 1000})
	if err != nil || len(done) != total {
		t.Errorf("%d tasks are complete of %d, error %v", len(done), total, err)
	}
}

// herd is what the producers and workers share.
type herd struct {
	*world
	t    *testing.T
	left atomic.Int64 // steps that are not completed yet

	mu      sync.Mutex
	settled map[task.ID]int
}

// produce submits pairs of tasks; some other caller uses the same keys, and
// only one of the two gets a new task.
func (h *herd) produce(p, batches int) {
	for b := range batches {
		var fresh int
		for attempt := range 2 {
			subs := make([]engine.Submission, 2)
			for i := range subs {
				subs[i] = engine.Submission{Name: "diamond", IdempotencyKey: fmt.Sprintf("%d/%d/%d", p, b, i)}
			}
			receipts, err := h.engine.Submit(h.ctx, subs, false)
			if err != nil {
				h.t.Errorf("submit: %v", err)
				return
			}
			for _, r := range receipts {
				if r.Created {
					fresh++
				}
				if r.Created != (attempt == 0) {
					h.t.Errorf("attempt %d created=%t", attempt, r.Created)
				}
			}
		}
		if fresh != 2 {
			h.t.Errorf("%d tasks were created under two keys", fresh)
		}
	}
}

// work claims, and completes, releases or snoozes what it got, until nothing is left.
func (h *herd) work(r *rand.Rand) {
	me, err := h.engine.Register(h.ctx, task.Worker{Capabilities: []string{"gpu"}})
	if err != nil {
		h.t.Errorf("register: %v", err)
		return
	}
	for h.left.Load() > 0 && !h.t.Failed() {
		leases, _, err := h.engine.Poll(h.ctx, me.ID, 1+r.IntN(5), time.Millisecond, r.IntN(2) == 0)
		if err != nil {
			h.t.Errorf("poll: %v", err)
			return
		}
		if len(leases) == 0 {
			if err := h.upkeep.RunOnce(h.ctx); err != nil {
				h.t.Errorf("upkeep: %v", err)
			}
			continue
		}
		if _, _, err := h.engine.Heartbeat(h.ctx, engine.Beat{Worker: me.ID}); err != nil {
			h.t.Errorf("heartbeat: %v", err)
		}
		h.report(r, leases)
	}
}

// report settles every lease twice: the second time has to be refused.
func (h *herd) report(r *rand.Rand, leases []engine.Lease) {
	results := make([]engine.Result, 0, 2*len(leases))
	for range 2 {
		for _, l := range leases {
			x := engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}
			if r.IntN(10) == 0 {
				x.Status = engine.ResultReleased
			}
			results = append(results, x)
		}
	}
	answers, err := h.engine.Settle(h.ctx, results)
	if err != nil {
		h.t.Errorf("settle: %v", err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, a := range answers {
		switch first := i < len(leases); {
		case first != (a.Err == nil):
			h.t.Errorf("report %d of %d: %v", i, len(answers), a.Err)
		case first && a.State == task.StepComplete:
			h.settled[a.Step]++
			h.left.Add(-1)
		}
	}
}
