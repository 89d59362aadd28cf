package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// damaged cannot read the contexts of poisoned tasks, as a database with damaged pages.
type damaged struct{ *poisoned }

func (d damaged) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	return d.poisoned.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return fn(ctx, damagedTx{tx, d}) })
}

type damagedTx struct {
	engine.Tx
	d damaged
}

func (x damagedTx) Ready(ctx context.Context, routes []int64, limit int) ([]engine.Work, error) {
	works, err := x.Tx.Ready(ctx, routes, limit)
	for _, w := range works {
		err = errors.Join(err, x.d.check(w.Task.ID))
	}
	return works, err
}

func (x damagedTx) Contexts(ctx context.Context, ids []task.ID) ([][]byte, error) {
	if err := x.d.check(ids...); err != nil {
		return nil, err
	}
	return x.Tx.Contexts(ctx, ids)
}

// Steps that cannot be read delay no other step of their queue; a poll costs a bounded number of transactions.
func TestPoisonedPolls(t *testing.T) {
	t.Parallel()
	for _, through := range []string{"store", "dispatcher"} {
		for _, bad := range []int{1, 600, 10_000} {
			t.Run(fmt.Sprint(through, bad), func(t *testing.T) {
				t.Parallel()
				if bad > 1000 && testing.Short() {
					t.Skip("it takes some seconds")
				}
				pollPoisoned(t, through == "dispatcher", bad)
			})
		}
	}
}

func pollPoisoned(t *testing.T, dispatcher bool, bad int) {
	d := damaged{&poisoned{Database: memstore.New(&memstore.Options{Seed: 1}), bad: map[task.ID]bool{}}}
	e, tick := newEngineOn(t, d, through(dispatcher))
	registerOne(t, e)
	dispatching(t, e)
	ids := submitMany(t, e, bad+3, func(int, *engine.Submission) {})
	d.poison(ids[:bad]...)
	e.Forget() // what was submitted just now
	w := register(t, e, 100_000)
	poll := func(capacity, writes int) (leases []engine.Lease) {
		t.Helper()
		before := d.writes
		leases, _, err := e.Poll(t.Context(), w.ID, capacity, 0, true)
		if n := d.writes - before; err != nil || n > writes {
			t.Fatalf("a poll gets %d steps with %d transactions, %v; want at most %d", len(leases), n, err, writes)
		}
		return leases
	}
	var leases []engine.Lease
	for n := 0; len(leases) < 3; n++ {
		if n > bad/100+5 {
			t.Fatalf("after %d polls %d of 3 healthy steps are handed out", n, len(leases))
		}
		leases = append(leases, poll(10, 6000)...)
	}
	text, err := d.NoteStore().FindNote(t.Context(), engine.SteppedNote+"claim")
	if err != nil || !strings.Contains(text, "the row cannot be stored") {
		t.Errorf("the note is %s, %v", text, err)
	}
	if more := submitMany(t, e, 1, func(int, *engine.Submission) {}); len(more) == 1 {
		e.Forget()
		if got := poll(10, 20); len(got) != 1 || got[0].Task.ID != more[0] {
			t.Errorf("%d steps beside those that rest", len(got))
		}
	}
	d.cure()
	tick(2 * time.Minute)
	if err := e.SweepDispatch(t.Context()); err != nil {
		t.Fatal(err)
	}
	cured := 0
	for n := 0; cured < bad && n < 3*bad+10; n++ {
		cured += len(poll(100, 300))
		tick(time.Second)
		if err := e.SweepDispatch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if cured != bad {
		t.Errorf("%d of %d cured steps are handed out", cured, bad)
	}
}

// unleasable cannot store leases of poisoned steps.
type unleasable struct{ *poisoned }

func (d unleasable) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	return d.Database.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return fn(ctx, unleasableTx{tx, d}) })
}

type unleasableTx struct {
	engine.Tx
	d unleasable
}

func (x unleasableTx) SaveSteps(ctx context.Context, steps []*task.Step) error {
	for _, s := range steps {
		if s.State.Leased() {
			if err := x.d.check(s.ID); err != nil {
				return err
			}
		}
	}
	return x.Tx.SaveSteps(ctx, steps)
}

// A step that cannot be handed to a waiting poll does not fail the result that makes it ready.
func TestPoisonedHandOff(t *testing.T) {
	t.Parallel()
	d := unleasable{&poisoned{Database: memstore.New(&memstore.Options{Seed: 1}), bad: map[task.ID]bool{}}}
	e, _ := newEngineOn(t, d, engine.Options{})
	tpl := &task.Template{Namespace: engine.DefaultNamespace, Name: "t", Version: "1", Steps: []task.StepSpec{
		{Name: "a", Handler: "h", Retry: task.DefaultRetry()},
		{Name: "b", Handler: "i", Retry: task.DefaultRetry(), Dependencies: []string{"a"}}}}
	tpl.Link()
	if _, _, err := e.RegisterTemplate(t.Context(), tpl, engine.Registration{}); err != nil {
		t.Fatal(err)
	}
	id := submit(t, e, engine.Submission{Name: "t"})[0].ID
	_, all, err := e.Steps(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	d.poison(all[1].ID)
	first, err := e.Register(t.Context(), task.Worker{Name: "a", Handlers: []string{"h"}, Capacity: 1})
	if err != nil {
		t.Fatal(err)
	}
	next, err := e.Register(t.Context(), task.Worker{Name: "b", Handlers: []string{"i"}, Capacity: 1})
	if err != nil {
		t.Fatal(err)
	}
	leases, _, err := e.Poll(t.Context(), first.ID, 1, 0, true)
	if err != nil || len(leases) != 1 {
		t.Fatal(len(leases), err)
	}
	waits, leave := context.WithCancel(t.Context())
	got := make(chan int)
	go func() {
		list, _, err := e.Poll(waits, next.ID, 1, time.Minute, true)
		if err != nil {
			t.Error(err)
		}
		got <- len(list)
	}()
	for !e.Polled(next.No) {
		runtime.Gosched()
	}
	answers, err := e.Settle(t.Context(), []engine.Result{{Step: leases[0].Step.ID, Token: leases[0].Step.Token,
		Status: engine.ResultCompleted}})
	if err != nil || answers[0].Err != nil {
		t.Errorf("the result is not stored: %v, %v", answers, err)
	}
	leave()
	if n := <-got; n != 0 {
		t.Errorf("%d steps are handed out", n)
	}
}
