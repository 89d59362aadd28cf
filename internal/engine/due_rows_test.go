package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// poisoned cannot store changes of some tasks and their steps.
type poisoned struct {
	engine.Database

	mu  sync.Mutex
	bad map[task.ID]bool
	// writes counts transactions.
	writes int
}

var errPoison = errors.New("the row cannot be stored")

func (p *poisoned) poison(ids ...task.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		p.bad[id] = true
	}
}

func (p *poisoned) cure() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.bad)
}

func (p *poisoned) check(ids ...task.ID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		if p.bad[id] {
			return errPoison
		}
	}
	return nil
}

func (p *poisoned) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	p.mu.Lock()
	p.writes++
	p.mu.Unlock()
	return p.Database.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		return fn(ctx, poisonedTx{tx, p})
	})
}

type poisonedTx struct {
	engine.Tx
	p *poisoned
}

func (x poisonedTx) SaveTasks(ctx context.Context, tasks []*task.Task) error {
	for _, t := range tasks {
		if err := x.p.check(t.ID); err != nil || strings.HasPrefix(t.Meta.OrderingKey, "bad") {
			return errPoison
		}
	}
	return x.Tx.SaveTasks(ctx, tasks)
}

func (x poisonedTx) SaveSteps(ctx context.Context, steps []*task.Step) error {
	for _, s := range steps {
		if err := x.p.check(s.TaskID); err != nil {
			return err
		}
	}
	return x.Tx.SaveSteps(ctx, steps)
}

func poisonedEngine(t *testing.T, opts engine.Options, change func(*task.Template)) (
	*engine.Engine, *poisoned, func(time.Duration),
) {
	t.Helper()
	p := &poisoned{Database: memstore.New(&memstore.Options{Seed: 1}), bad: map[task.ID]bool{}}
	e, tick := newEngineOn(t, p, opts)
	tpl := &task.Template{Namespace: engine.DefaultNamespace, Name: "t", Version: "1",
		Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: task.DefaultRetry()}}}
	if change != nil {
		change(tpl)
	}
	tpl.Link()
	if _, _, err := e.RegisterTemplate(t.Context(), tpl, engine.Registration{}); err != nil {
		t.Fatal(err)
	}
	return e, p, tick
}

func submitMany(t *testing.T, e *engine.Engine, n int, change func(i int, s *engine.Submission)) (ids []task.ID) {
	t.Helper()
	for from := 0; from < n; from += 500 {
		subs := make([]engine.Submission, min(500, n-from))
		for i := range subs {
			subs[i].Name = "t"
			change(from+i, &subs[i])
		}
		for _, r := range submit(t, e, subs...) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// steppedOver runs a loop until nothing is left, and returns how many rows it skipped.
func steppedOver(t *testing.T, full int, once func(context.Context) (int, error)) (rows int) {
	t.Helper()
	for n := full; n >= full; {
		var err error
		n, err = once(t.Context())
		var failed *due.Error
		switch {
		case errors.As(err, &failed):
			rows += len(failed.Faults)
		case err != nil:
			t.Fatal(err)
		}
	}
	return rows
}

func stateOf(t *testing.T, e *engine.Engine, id task.ID) (*task.Task, *task.Step) {
	t.Helper()
	job, steps, err := e.Steps(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return job, steps[0]
}

// prepareLeases hands out steps to a worker that then vanishes.
func prepareLeases(t *testing.T, e *engine.Engine, tick func(time.Duration), n int) []task.ID {
	t.Helper()
	ids := submitMany(t, e, n, func(int, *engine.Submission) {})
	w := register(t, e, 100_000)
	for left := n; left > 0; {
		leases, _, err := e.Poll(t.Context(), w.ID, 1000, 0, true)
		if err != nil || len(leases) == 0 {
			t.Fatal(err, left)
		}
		left -= len(leases)
	}
	tick(time.Hour)
	return ids
}

type dueLoop struct {
	name    string
	through bool // with a dispatcher
	change  func(*task.Template)
	prepare func(t *testing.T, e *engine.Engine, tick func(time.Duration), n int) []task.ID
	run     func(e *engine.Engine) func(context.Context) (int, error)
	done    func(j *task.Task, s *task.Step) bool
}

var loops = []dueLoop{
	{name: "timers",
		prepare: func(t *testing.T, e *engine.Engine, tick func(time.Duration), n int) []task.ID {
			ids := submitMany(t, e, n, func(i int, s *engine.Submission) {
				s.RunAt = e.Now().Add(time.Minute + time.Duration(i)*time.Microsecond)
			})
			tick(time.Hour)
			return ids
		},
		run: func(e *engine.Engine) func(context.Context) (int, error) {
			return func(ctx context.Context) (int, error) { return e.FireTimers(ctx, 500) }
		},
		done: func(_ *task.Task, s *task.Step) bool { return s.State == task.StepEnqueued }},
	{name: "leases", prepare: prepareLeases,
		run: func(e *engine.Engine) func(context.Context) (int, error) {
			return func(ctx context.Context) (int, error) { return e.ReapLeases(ctx, 500) }
		},
		done: func(_ *task.Task, s *task.Step) bool { return !s.State.Leased() }},
	{name: "leases of a dispatcher", through: true, prepare: prepareLeases,
		run: func(e *engine.Engine) func(context.Context) (int, error) {
			return func(ctx context.Context) (int, error) { return e.ReapDispatched(ctx, 500) }
		},
		done: func(_ *task.Task, s *task.Step) bool { return !s.State.Leased() }},
	{name: "deadlines", change: func(tpl *task.Template) { tpl.Lifecycle.MaxDuration = time.Minute },
		prepare: func(t *testing.T, e *engine.Engine, tick func(time.Duration), n int) []task.ID {
			ids := submitMany(t, e, n, func(int, *engine.Submission) {})
			tick(time.Hour)
			return ids
		},
		run: func(e *engine.Engine) func(context.Context) (int, error) {
			return func(ctx context.Context) (int, error) { return e.ExpireTasks(ctx, 500) }
		},
		done: func(j *task.Task, _ *task.Step) bool { return j.State == task.Errored }},
	{name: "parked",
		prepare: func(t *testing.T, e *engine.Engine, tick func(time.Duration), n int) []task.ID {
			target := task.PauseTarget{Kind: task.PauseTemplate, Namespace: engine.DefaultNamespace, Name: "t"}
			if _, _, err := e.Pause(t.Context(), engine.PauseRequest{Target: target}); err != nil {
				t.Fatal(err)
			}
			ids := submitMany(t, e, n, func(int, *engine.Submission) {})
			if _, err := e.ResumePaused(t.Context(), target, "", ""); err != nil {
				t.Fatal(err)
			}
			tick(time.Minute)
			return ids
		},
		run: func(e *engine.Engine) func(context.Context) (int, error) {
			return func(ctx context.Context) (int, error) { return e.ReleasePaused(ctx, 500) }
		},
		done: func(_ *task.Task, s *task.Step) bool { return s.OnRoute() }},
}

// Failing rows block no other in any loop, rest, and are handled once they can be.
func TestPoisonedLoops(t *testing.T) {
	t.Parallel()
	for _, l := range loops {
		for _, bad := range []int{1, 600} {
			t.Run(fmt.Sprint(l.name, bad), func(t *testing.T) {
				t.Parallel()
				e, p, tick := poisonedEngine(t, through(l.through), l.change)
				dispatching(t, e)
				ids := l.prepare(t, e, tick, bad+3)
				p.poison(ids[:bad]...)
				if n := steppedOver(t, 500, l.run(e)); n != bad {
					t.Errorf("%d rows were stepped over, want %d", n, bad)
				}
				for _, id := range ids[bad:] {
					if j, s := stateOf(t, e, id); !l.done(j, s) {
						t.Fatalf("a healthy task is %s, its step %s in queue %d", j.State, s.State, s.Queue)
					}
				}
				if n := steppedOver(t, 500, l.run(e)); n != 0 {
					t.Errorf("%d rows that rest were tried", n)
				}
				tick(time.Second)
				if n := steppedOver(t, 500, l.run(e)); n == 0 {
					t.Error("no row that rested was tried again")
				}
				p.cure()
				for range 12 { // a fifth of a batch is for failed ones
					tick(time.Minute)
					steppedOver(t, 500, l.run(e))
				}
				for _, id := range ids[:bad] {
					if j, s := stateOf(t, e, id); !l.done(j, s) {
						t.Fatalf("a cured task is %s, its step %s in queue %d", j.State, s.State, s.Queue)
					}
				}
			})
		}
	}
}

// The note for tasker doctor names the loop and a row, and is not written with every run.
func TestStepOver(t *testing.T) {
	t.Parallel()
	e, p, tick := poisonedEngine(t, engine.Options{}, nil)
	ids := loops[0].prepare(t, e, tick, 2)
	p.poison(ids[0])
	_, err := e.FireTimers(t.Context(), 500)
	var rows *due.Error
	if !errors.As(err, &rows) {
		t.Fatal(err)
	}
	_, bad := stateOf(t, e, ids[0])
	for i := range 3 {
		before := p.writes
		if err := e.StepOver(t.Context(), "timers", rows); err != nil {
			t.Fatal(err)
		}
		if wrote := p.writes - before; (wrote == 1) != (i != 1) {
			t.Errorf("call %d took %d transactions", i, wrote)
		}
		tick(time.Duration(i) * time.Minute)
	}
	text, err := p.NoteStore().FindNote(t.Context(), engine.SteppedNote+"timers")
	if want := "the timer of step " + bad.ID.String() + ": the row cannot be stored"; err != nil ||
		!strings.Contains(text, want) {
		t.Errorf("the note is %s, %v; want %q", text, err, want)
	}
}

func TestPoisonedGate(t *testing.T) {
	t.Parallel()
	for _, bad := range []int{1, 600} {
		e, p, tick := poisonedEngine(t, engine.Options{}, func(tpl *task.Template) {
			tpl.Concurrency = &limit.Spec{Permits: 2}
		})
		w := register(t, e, 10)
		ids := submitMany(t, e, bad+4, func(int, *engine.Submission) {})
		admit := func() {
			t.Helper()
			for more := true; more; {
				var err error
				if _, more, err = e.Admit(t.Context()); err != nil && !due.OnlyRows(err) {
					t.Fatal(err)
				}
			}
		}
		admit()
		leases, _, err := e.Poll(t.Context(), w.ID, 10, 0, true)
		if err != nil || len(leases) != 2 {
			t.Fatal(len(leases), err)
		}
		p.poison(ids[2 : 2+bad]...)
		var results []engine.Result
		for _, l := range leases {
			results = append(results, engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted})
		}
		if _, err := e.Settle(t.Context(), results); err != nil {
			t.Fatal(err)
		}
		admit()
		for _, id := range ids[2+bad:] {
			if _, s := stateOf(t, e, id); !s.OnRoute() {
				t.Fatalf("%d bad ones: a healthy step waits in queue %d", bad, s.Queue)
			}
		}
		p.cure()
		tick(time.Minute)
	}
}

func TestTenThousandPoisonedTimers(t *testing.T) {
	t.Parallel()
	const bad = 10_000
	e, p, tick := poisonedEngine(t, engine.Options{}, nil)
	ids := loops[0].prepare(t, e, tick, bad+1)
	p.poison(ids[:bad]...)
	if n := steppedOver(t, 500, loops[0].run(e)); n != bad {
		t.Errorf("%d steps were stepped over, want %d", n, bad)
	}
	if _, s := stateOf(t, e, ids[bad]); s.State != task.StepEnqueued {
		t.Errorf("the healthy step is %s", s.State)
	}
	late := submitMany(t, e, 1, func(_ int, s *engine.Submission) { s.RunAt = e.Now().Add(100 * time.Millisecond) })
	tick(200 * time.Millisecond)
	before := p.writes
	steppedOver(t, 500, loops[0].run(e))
	if _, s := stateOf(t, e, late[0]); s.State != task.StepEnqueued || p.writes-before > 1 {
		t.Errorf("a later healthy step is %s after %d transactions, want 1", s.State, p.writes-before)
	}
}

func TestPoisonedTurns(t *testing.T) {
	t.Parallel()
	for _, bad := range []int{1, 600} {
		e, _, tick := poisonedEngine(t, engine.Options{}, nil)
		ids := submitMany(t, e, bad+3, func(i int, s *engine.Submission) {
			if s.Meta.OrderingKey = fmt.Sprint("bad", i); i >= bad {
				s.Meta.OrderingKey = "good"
			}
		})
		tick(time.Minute) // the run after the commit may have tried some
		steppedOver(t, 1, func(ctx context.Context) (int, error) {
			_, more, err := e.GiveTurns(ctx)
			if more {
				return 1, err
			}
			return 0, err
		})
		for i, want := range map[int]bool{bad: false, bad + 1: true, 0: true} {
			if j, _ := stateOf(t, e, ids[i]); j.Meta.Held != want {
				t.Errorf("%d bad ones: the task %d is held: %v, want %v", bad, i, j.Meta.Held, want)
			}
		}
	}
}
