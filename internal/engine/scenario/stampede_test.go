package scenario_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// TestStampede runs many producers, workers and upkeep loops on one engine. Every task completes, every step is
// completed once, and every second report is refused. The same holds on a store that fails now and then, with callers
// that retry.
func TestStampede(t *testing.T) {
	t.Parallel()
	for _, s := range stores {
		for name, every := range map[string]int{"Healthy": 0, "Faulty": 20} {
			t.Run(s.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				store, reopen := s.open(t)
				if s.name == "memstore" {
					store = memstore.New(nil)
				}
				if every > 0 {
					store = &faulty{Database: store, every: every}
				}
				w, err := newWorld(t, store, reopen, settings.Config{})
				if err != nil {
					t.Fatal(err)
				}
				w.stampede(t)
			})
		}
	}
}

// faulty rolls back every so many transactions after all their work.
type faulty struct {
	engine.Database
	every int
	count atomic.Int64
}

func (f *faulty) Write(ctx context.Context, fn func(ctx context.Context, tx engine.Tx) error) error {
	if f.count.Add(1)%int64(f.every) != 0 {
		return f.Database.Write(ctx, fn)
	}
	return f.Database.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return task.Errorf(task.Unavailable, "the store is away")
	})
}

func (w *world) stampede(t *testing.T) {
	const producers, workers, batches, steps = 8, 8, 12, 4
	const total = producers * batches * 2
	h := &herd{world: w, t: t, settled: map[task.ID]int{}}
	h.left.Store(total * steps)
	diamond := modelTemplate("diamond")
	diamond.Lifecycle = task.Lifecycle{}
	h.try("register template", func() error {
		_, _, err := w.engine.RegisterTemplate(w.ctx, diamond, engine.Registration{})
		return err
	})
	// the clock stands still, so a step that gets lost stays lost
	stuck := time.AfterFunc(time.Minute, func() {
		t.Errorf("%d steps do not come to an end", h.left.Load())
	})
	defer stuck.Stop()
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

type herd struct {
	*world
	t    *testing.T
	left atomic.Int64

	mu      sync.Mutex
	settled map[task.ID]int
}

// try repeats a verb until the store answers. Any other error fails the test.
func (h *herd) try(what string, verb func() error) bool {
	for {
		switch err := verb(); {
		case err == nil:
			return true
		case task.CodeOf(err) != task.Unavailable:
			h.t.Errorf("%s: %v", what, err)
			return false
		}
	}
}

// produce submits pairs of tasks twice; the second time nothing is new.
func (h *herd) produce(p, batches int) {
	for b := range batches {
		subs := make([]engine.Submission, 2)
		for i := range subs {
			subs[i] = engine.Submission{Name: "diamond", IdempotencyKey: fmt.Sprintf("%d/%d/%d", p, b, i)}
		}
		for round := range 2 {
			var receipts []engine.Receipt
			ok := h.try("submit", func() (err error) {
				receipts, err = h.engine.Submit(h.ctx, subs, false)
				return err
			})
			if !ok {
				return
			}
			for _, r := range receipts {
				if r.Created != (round == 0) {
					h.t.Errorf("round %d: created=%t", round, r.Created)
				}
			}
		}
	}
}

func (h *herd) work(r *rand.Rand) {
	var me *task.Worker
	h.try("register", func() (err error) {
		me, err = h.engine.Register(h.ctx, task.Worker{Capabilities: []string{"gpu"}})
		return err
	})
	for h.left.Load() > 0 && !h.t.Failed() {
		var leases []engine.Lease
		h.try("poll", func() (err error) {
			leases, _, err = h.engine.Poll(h.ctx, me.ID, 1+r.IntN(5), time.Millisecond, r.IntN(2) == 0)
			return err
		})
		if len(leases) == 0 {
			h.try("upkeep", func() error { return h.upkeep.RunOnce(h.ctx) })
			continue
		}
		h.try("heartbeat", func() error {
			_, _, err := h.engine.Heartbeat(h.ctx, engine.Beat{Worker: me.ID})
			return err
		})
		h.report(r, leases)
	}
}

// report settles every lease twice; the second time is refused.
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
	var answers []engine.Answer
	ok := h.try("settle", func() (err error) {
		answers, err = h.engine.Settle(h.ctx, results)
		return err
	})
	if !ok {
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
