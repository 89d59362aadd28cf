package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// faulty fails one call for one row.
type faulty struct {
	*poisoned
	worker string // that cannot be saved, by name
	pause  string // that cannot be found, by the name of its target
	tasks  bool   // cannot be deleted
	of     task.ID
}

func (f *faulty) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	return f.poisoned.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return fn(ctx, faultyTx{tx, f}) })
}

type faultyTx struct {
	engine.Tx
	f *faulty
}

func (x faultyTx) SaveWorker(ctx context.Context, w *task.Worker) error {
	if w.Name == x.f.worker && w.State == task.WorkerDead {
		return errPoison
	}
	return x.Tx.SaveWorker(ctx, w)
}

func (x faultyTx) DeleteFinished(ctx context.Context, before, keys task.Instant, limit int) (int, error) {
	if x.f.tasks {
		return 0, errPoison
	}
	return x.Tx.DeleteFinished(ctx, before, keys, limit)
}

type faultyPauses struct {
	engine.PauseStore
	f *faulty
}

func (f *faulty) PauseStore() engine.PauseStore { return faultyPauses{f.poisoned.PauseStore(), f} }

func (s faultyPauses) FindPause(ctx context.Context, tx engine.Tx, target task.PauseTarget) (*task.Pause, error) {
	if target.Name == s.f.pause {
		return nil, errPoison
	}
	return s.PauseStore.FindPause(ctx, tx, target)
}

type faultyCases struct {
	engine.CaseStore
	f *faulty
}

func (f *faulty) CaseStore() engine.CaseStore { return faultyCases{f.poisoned.CaseStore(), f} }

func (s faultyCases) AddCases(ctx context.Context, tx engine.Tx, cases []*task.Case) error {
	for _, c := range cases {
		if c.TaskID == s.f.of {
			return errPoison
		}
	}
	return s.CaseStore.AddCases(ctx, tx, cases)
}

func through(dispatcher bool) (o engine.Options) {
	if dispatcher {
		o.Dispatcher = memory.NewServer().Open()
	}
	return o
}

func dispatching(t *testing.T, e *engine.Engine) {
	t.Helper()
	if err := e.MaintainDispatch(t.Context()); err != nil || e.DispatchState().Active != e.Dispatched() {
		t.Fatal(err, e.DispatchState())
	}
}

func steps(t *testing.T, loop func(context.Context) (int, error)) {
	t.Helper()
	if _, err := loop(t.Context()); !due.OnlyRows(err) {
		t.Fatalf("the loop fails with %v; it should step over a row", err)
	}
}

func works(t *testing.T, tick func(time.Duration), loop func(context.Context) (int, error)) {
	t.Helper()
	tick(2 * time.Minute)
	if _, err := loop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A failing row blocks no other and is handled once it can be.
func TestPoisonedKinds(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, opts engine.Options) (*engine.Engine, *faulty, func(time.Duration)) {
		f := &faulty{poisoned: &poisoned{Database: memstore.New(&memstore.Options{Seed: 1}), bad: map[task.ID]bool{}}}
		e, tick := newEngineOn(t, f, opts)
		registerOne(t, e)
		return e, f, tick
	}
	t.Run("Workers", func(t *testing.T) {
		t.Parallel()
		e, f, tick := open(t, engine.Options{})
		var workers [2]*task.Worker
		for i, name := range []string{"bad", "good"} {
			w, err := e.Register(t.Context(), task.Worker{Name: name, Capacity: 1})
			if err != nil {
				t.Fatal(err)
			}
			workers[i] = w
		}
		state := func(i int) task.WorkerState {
			w, err := e.Worker(t.Context(), workers[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			return w.State
		}
		f.worker = "bad"
		tick(time.Hour)
		steps(t, e.MarkDeadWorkers)
		if state(0) == task.WorkerDead || state(1) != task.WorkerDead {
			t.Errorf("the bad worker is %s, the good one %s", state(0), state(1))
		}
		f.worker = ""
		works(t, tick, e.MarkDeadWorkers)
		if state(0) != task.WorkerDead {
			t.Errorf("the worker is %s", state(0))
		}
	})
	t.Run("Retention", func(t *testing.T) {
		t.Parallel()
		e, f, tick := open(t, engine.Options{Config: settings.Config{Retention: settings.Retention{Finished: time.Hour,
			Workers: time.Hour}}})
		id := submit(t, e, engine.Submission{Name: "t"})[0].ID
		w := register(t, e, 1)
		leases, _, err := e.Poll(t.Context(), w.ID, 1, 0, true)
		if err != nil || len(leases) != 1 {
			t.Fatal(len(leases), err)
		}
		if _, err := e.Settle(t.Context(), []engine.Result{{Step: leases[0].Step.ID, Token: leases[0].Step.Token,
			Status: engine.ResultCompleted}}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Drain(t.Context(), w.ID, true, engine.WorkerAct{}); err != nil {
			t.Fatal(err)
		}
		tick(30 * 24 * time.Hour)
		f.tasks = true
		steps(t, e.Retain)
		if list, err := f.Workers(t.Context(), 0); err != nil || len(list) != 0 {
			t.Errorf("while no task can be deleted, workers of old are kept: %v, %v", list, err)
		}
		f.tasks = false
		works(t, tick, e.Retain)
		if _, err := e.Task(t.Context(), id, 0); task.CodeOf(err) != task.NotFound {
			t.Errorf("the task is kept: %v", err)
		}
	})
	t.Run("Pauses", func(t *testing.T) {
		t.Parallel()
		e, f, tick := open(t, engine.Options{})
		target := func(name string) task.PauseTarget {
			return task.PauseTarget{Kind: task.PauseHandler, Namespace: engine.DefaultNamespace, Name: name}
		}
		for _, name := range []string{"bad", "good"} {
			if _, _, err := e.Pause(t.Context(), engine.PauseRequest{Target: target(name),
				Until: e.Now().Add(time.Minute)}); err != nil {
				t.Fatal(err)
			}
		}
		ended := func(name string) bool {
			var p *task.Pause
			err := f.Database.Write(t.Context(), func(ctx context.Context, tx engine.Tx) (err error) {
				p, err = f.poisoned.PauseStore().FindPause(ctx, tx, target(name))
				return err
			})
			if err != nil || p == nil {
				t.Fatal(p, err)
			}
			return p.EndedAt != 0
		}
		loop := func(ctx context.Context) (int, error) { return e.EndPauses(ctx, 100) }
		tick(time.Hour)
		f.pause = "bad"
		steps(t, loop)
		if ended("bad") || !ended("good") {
			t.Errorf("the bad pause has ended: %v, the good one: %v", ended("bad"), ended("good"))
		}
		f.pause = ""
		works(t, tick, loop)
		if !ended("bad") {
			t.Error("the pause has not ended")
		}
	})
	t.Run("Unserved", func(t *testing.T) {
		t.Parallel()
		e, f, tick := open(t, engine.Options{})
		receipts := submit(t, e, engine.Submission{Name: "t"}, engine.Submission{Name: "t"})
		cases := func(i int) (n int) {
			list, err := e.Cases(t.Context(), engine.CaseFilter{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range list {
				if c.TaskID == receipts[i].ID {
					n++
				}
			}
			return n
		}
		loop := func(ctx context.Context) (int, error) { return e.FindUnserved(ctx, 100) }
		tick(30 * 24 * time.Hour)
		f.of = receipts[0].ID
		steps(t, loop)
		if cases(0) != 0 || cases(1) != 1 {
			t.Errorf("the bad task has %d cases, the good one %d", cases(0), cases(1))
		}
		f.of = task.ID{}
		works(t, tick, loop)
		if cases(0) != 1 {
			t.Errorf("the task has %d cases", cases(0))
		}
	})
}

// While a dispatcher fails, a lease that cannot be stored blocks the store only as long as it lasts.
func TestPoisonedHandOver(t *testing.T) {
	t.Parallel()
	for _, bad := range []int{1, 600} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			t.Parallel()
			server := memory.NewServer()
			e, p, tick := poisonedEngine(t, engine.Options{Dispatcher: server.Open()}, nil)
			dispatching(t, e)
			ids := submitMany(t, e, bad+2, func(int, *engine.Submission) {})
			w, other := register(t, e, bad+1), register(t, e, bad+2)
			for left := bad + 1; left > 0; {
				leases, _, err := e.Poll(t.Context(), w.ID, left, 0, true)
				if err != nil || len(leases) == 0 {
					t.Fatal(err, left)
				}
				left -= len(leases)
			}
			p.poison(ids[:bad]...)
			server.Fail(errPoison)
			if err := e.MaintainDispatch(t.Context()); err == nil {
				t.Fatal("leases that are in force are not stored")
			}
			if leases, _, err := e.Poll(t.Context(), other.ID, bad+2, 0, true); err == nil || len(leases) > 0 {
				t.Fatalf("%d steps are handed out, %v", len(leases), err)
			}
			tick(e.Config().Leases.Lease())
			if err := e.MaintainDispatch(t.Context()); err != nil {
				t.Fatalf("the leases are over, and the store does not hand out: %v", err)
			}
			text, err := p.NoteStore().FindNote(t.Context(), engine.SteppedNote+"dispatch")
			if err != nil || !strings.Contains(text, "the row cannot be stored") {
				t.Errorf("the note is %q, %v", text, err)
			}
			p.cure()
			leases, _, err := e.Poll(t.Context(), other.ID, bad+2, 0, true)
			if err != nil || len(leases) != bad+1 ||
				slices.ContainsFunc(leases, func(l engine.Lease) bool { return l.Task.ID == ids[bad] }) {
				t.Errorf("%d steps are handed out, %v; want all but the one whose lease is stored", len(leases), err)
			}
		})
	}
}

func TestTenThousandPoisonedLeases(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	const bad = 10_000
	l := loops[slices.IndexFunc(loops, func(l dueLoop) bool { return l.through })]
	e, p, tick := poisonedEngine(t, through(true), nil)
	dispatching(t, e)
	ids := l.prepare(t, e, tick, bad+1)
	p.poison(ids[:bad]...)
	if n := steppedOver(t, 500, l.run(e)); n != bad {
		t.Errorf("%d steps were stepped over, want %d", n, bad)
	}
	if j, s := stateOf(t, e, ids[bad]); !l.done(j, s) {
		t.Errorf("the healthy step is %s", s.State)
	}
}
