package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// Verbs in a transaction on the caller's connection, whose end the engine does not see.

type foreign struct {
	*domain
	store    *postgres.Store
	conn     *pgx.Conn
	observer *observer
}

func newForeign(t *testing.T) *foreign {
	t.Helper()
	dsn := pgtest.DSN(t)
	store, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, store) })
	w, err := newWorld(t, store, nil, settings.Config{})
	if err != nil {
		t.Fatal(err)
	}
	f := &foreign{domain: &domain{w, t}, store: store}
	caller, err := openObserver(t, dsn)
	f.must(err)
	f.conn = caller.conn
	f.observer, err = openObserver(t, dsn)
	f.must(err)
	return f
}

func (f *foreign) begin() pgx.Tx {
	f.t.Helper()
	tx, err := f.conn.Begin(f.ctx)
	f.must(err)
	return tx
}

func (f *foreign) within(fn func(ctx context.Context, tx engine.Tx) error) error {
	return f.store.WriteExternal(f.ctx, f.conn.PgConn(), fn)
}

func (f *foreign) errored() (id, step, of task.ID) {
	f.t.Helper()
	limit := 0
	r, err := f.engine.Submit(f.ctx, []engine.Submission{{TaskType: "job", MaxRetries: &limit}}, false)
	f.must(err)
	f.fail(r[0].ID)
	return f.parts(r[0].ID)
}

func (f *foreign) parts(id task.ID) (_, step, of task.ID) {
	f.t.Helper()
	steps, err := f.store.FindSteps(f.ctx, id)
	f.must(err)
	c, err := f.store.CaseStore().LastCase(f.ctx, id)
	f.must(err)
	if c != nil {
		of = c.ID
	}
	return id, steps[0].ID, of
}

// untilWaiting returns when a verb waits for a lock of the caller's transaction, and fails if the verb ends.
func (f *foreign) untilWaiting(verb <-chan error) {
	f.t.Helper()
	for deadline := time.Now().Add(patient); time.Now().Before(deadline); {
		select {
		case err := <-verb:
			f.t.Fatalf("the verb did not wait: %v", err)
		default:
		}
		n, err := f.observer.waiting()
		f.must(err)
		if n > 0 {
			return
		}
	}
	f.t.Fatal("no verb waits for the transaction")
}

func (f *foreign) resolve(ctx context.Context, tx engine.Tx, id, step task.ID) error {
	act := engine.StepAct{Kind: engine.ResolveManually, Actor: "ann", Reason: "done by hand"}
	_, err := f.engine.OperateIn(ctx, tx, id, step, act)
	return err
}

// No process observes a commit on the caller's connection. Waiting callers and streams receive it with the next
// PollPeers.
func TestForeignCommitIsFoundByPolling(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	one, err := f.engine.Submit(f.ctx, []engine.Submission{job}, false)
	f.must(err)
	id, step, _ := f.parts(one[0].ID)
	l, err := f.engine.ListenTo(f.ctx, feed.Filter{Tasks: []task.ID{id}})
	f.must(err)
	defer l.Close()
	waited := make(chan *task.Task, 1)
	go func() {
		got, err := f.engine.Task(f.ctx, id, time.Minute)
		if err != nil {
			f.t.Error(err)
		}
		waited <- got
	}()
	tx := f.begin()
	f.must(f.within(func(ctx context.Context, tx engine.Tx) error { return f.resolve(ctx, tx, id, step) }))
	f.must(f.engine.PollPeers(f.ctx))
	f.wantTask(id, task.StepsInProcess)
	f.must(tx.Commit(f.ctx))
	f.wantTask(id, task.ResolvedManually)
	f.must(f.engine.PollPeers(f.ctx))
	select { // it may begin to wait only now, and reads the task first
	case got := <-waited:
		if got.State != task.ResolvedManually {
			t.Errorf("the caller who waited got a task that is %s", got.State)
		}
	case <-time.After(patient):
		t.Fatal("the caller still waits")
	}
	ctx, cancel := context.WithTimeout(f.ctx, patient)
	defer cancel()
	for state := task.State(""); state != task.ResolvedManually; {
		batch, err := l.Next(ctx)
		f.must(err)
		for _, c := range batch {
			state = task.State(c.To)
		}
	}
}

// A node's verb on a task that the caller's transaction has changed waits for its end, then acts on the result.
func TestNodeWaitsForForeignTransaction(t *testing.T) {
	t.Parallel()
	notes := "looked at"
	callers := map[string]func(f *foreign, id, step, of task.ID) func(context.Context, engine.Tx) error{
		"Operate": func(f *foreign, id, step, _ task.ID) func(context.Context, engine.Tx) error {
			return func(ctx context.Context, tx engine.Tx) error { return f.resolve(ctx, tx, id, step) }
		},
		"Replay": func(f *foreign, id, _, _ task.ID) func(context.Context, engine.Tx) error {
			return func(ctx context.Context, tx engine.Tx) error {
				_, err := f.engine.ReplayIn(ctx, tx, id, engine.Replay{Actor: "ann", ResetAttempts: true})
				return err
			}
		},
		"UpdateCase": func(f *foreign, _, _, of task.ID) func(context.Context, engine.Tx) error {
			return func(ctx context.Context, tx engine.Tx) error {
				_, err := f.engine.UpdateCaseIn(ctx, tx, of, task.CaseChange{Actor: "ann", Notes: &notes})
				return err
			}
		},
	}
	after := map[string]task.Code{"Operate": task.WrongState, "Replay": "", "UpdateCase": ""}
	for name, verb := range callers {
		for _, commits := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/Commits=%v", name, commits), func(t *testing.T) {
				t.Parallel()
				f := newForeign(t)
				id, step, of := f.errored()
				tx := f.begin()
				f.must(f.within(verb(f, id, step, of)))
				cancelled := make(chan error, 1)
				go func() {
					r, err := f.engine.Cancel(f.ctx, []task.ID{id}, engine.Cancellation{Actor: "bob"})
					if err == nil {
						err = r[0].Err
					}
					cancelled <- err
				}()
				f.untilWaiting(cancelled)
				want := task.Code("")
				if commits {
					f.must(tx.Commit(f.ctx))
					want = after[name]
				} else {
					f.must(tx.Rollback(f.ctx))
				}
				if err := <-cancelled; task.CodeOf(err) != want && (err != nil || want != "") {
					t.Errorf("the cancellation got %v, want %q", err, want)
				}
				state := task.Cancelled
				if want == task.WrongState {
					state = task.ResolvedManually
				}
				f.wantTask(id, state)
				f.wantKept(id, name, of, commits)
			})
		}
	}
}

func (f *foreign) wantKept(id task.ID, verb string, of task.ID, want bool) {
	f.t.Helper()
	var kept bool
	if verb == "UpdateCase" {
		c, err := f.engine.Case(f.ctx, of)
		f.must(err)
		kept = len(c.Thread) == 1
	} else {
		acts, err := f.store.ActStore().FindActs(f.ctx, id)
		f.must(err)
		kept = slices.ContainsFunc(acts, func(a task.Act) bool { return a.Actor == "ann" })
	}
	if kept != want {
		f.t.Errorf("the caller's act is kept: %v, want %v", kept, want)
	}
}

// A worker's report waits for the caller's transaction too; the lease is then gone or intact.
func TestSettleWaitsForForeignTransaction(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		t.Run(fmt.Sprintf("Commits=%v", commits), func(t *testing.T) {
			t.Parallel()
			f := newForeign(t)
			r, err := f.engine.Submit(f.ctx, []engine.Submission{job}, false)
			f.must(err)
			w, err := f.engine.Register(f.ctx, task.Worker{Name: "w"})
			f.must(err)
			leases, _, err := f.engine.Poll(f.ctx, w.ID, 1, 10*time.Second, true)
			f.must(err)
			id, step, _ := f.parts(r[0].ID)
			tx := f.begin()
			f.must(f.within(func(ctx context.Context, tx engine.Tx) error { return f.resolve(ctx, tx, id, step) }))
			settled := make(chan error, 1)
			go func() {
				answers, err := f.engine.Settle(f.ctx, []engine.Result{{Step: step, Token: leases[0].Step.Token,
					Status: engine.ResultCompleted, Result: []byte(`1`)}})
				if err == nil {
					err = answers[0].Err
				}
				settled <- err
			}()
			f.untilWaiting(settled)
			if commits {
				f.must(tx.Commit(f.ctx))
				if err := <-settled; task.CodeOf(err) != task.StaleToken {
					t.Errorf("the report got %v, want that its lease is gone", err)
				}
				f.wantTask(id, task.ResolvedManually)
				return
			}
			f.must(tx.Rollback(f.ctx))
			f.must(<-settled)
			f.wantTask(id, task.Complete)
		})
	}
}

// A verb that loses the race is refused and undone; the caller's transaction can continue.
func TestForeignTransactionLosesARace(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	id, step, _ := f.errored()
	tx := f.begin()
	err := f.within(func(ctx context.Context, tx engine.Tx) error {
		if err := f.resolve(ctx, tx, id, step); err != nil {
			return err
		}
		r, err := f.engine.Cancel(f.ctx, []task.ID{id}, engine.Cancellation{Actor: "bob"})
		f.must(err)
		return r[0].Err
	})
	if task.CodeOf(err) != task.Unavailable {
		t.Errorf("the verb got %v, want that the task has changed meanwhile", err)
	}
	err = f.within(func(ctx context.Context, tx engine.Tx) error { return f.resolve(ctx, tx, id, step) })
	if task.CodeOf(err) != task.WrongState {
		t.Errorf("the second attempt got %v, want that the task is cancelled", err)
	}
	f.must(tx.Commit(f.ctx))
	f.wantTask(id, task.Cancelled)
}

// A task submitted in a caller's transaction exists for the node from the commit on.
func TestCancelOfAForeignSubmission(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	prepared, err := f.engine.PrepareSubmit(f.ctx, []engine.Submission{job})
	f.must(err)
	defer prepared.Release(nil)
	tx := f.begin()
	var id task.ID
	f.must(f.within(func(ctx context.Context, tx engine.Tx) error {
		r, err := f.engine.SubmitIn(ctx, tx, prepared)
		if err == nil {
			id = r[0].ID
		}
		return err
	}))
	cancel := func() error {
		r, err := f.engine.Cancel(f.ctx, []task.ID{id}, engine.Cancellation{Actor: "bob"})
		f.must(err)
		return r[0].Err
	}
	if err := cancel(); task.CodeOf(err) != task.NotFound {
		t.Errorf("before the commit the cancellation got %v", err)
	}
	f.must(tx.Commit(f.ctx))
	f.must(cancel())
	f.wantTask(id, task.Cancelled)
}

// Caller transactions and node verbs run on the same tasks in any order. Each ends, and the audit trail has each
// successful act once.
func TestForeignTransactionsAndVerbsAtOnce(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	const rounds = 12
	for range rounds {
		first, firstStep, _ := f.errored()
		second, secondStep, _ := f.errored()
		steps := map[task.ID]task.ID{first: firstStep, second: secondStep}
		var mu sync.Mutex
		done := map[string]int{}
		note := func(actor string, err error) {
			mu.Lock()
			defer mu.Unlock()
			switch code := task.CodeOf(err); {
			case err == nil:
				done[actor]++
			case code != task.WrongState && code != task.Unavailable:
				t.Errorf("%s got %v", actor, err)
			}
		}
		var all sync.WaitGroup
		tx := f.begin()
		all.Go(func() { // both tasks in one transaction, in the reverse of the node's order
			for _, id := range []task.ID{second, first} {
				note("ann", f.within(func(ctx context.Context, tx engine.Tx) error {
					return f.resolve(ctx, tx, id, steps[id])
				}))
			}
			if err := tx.Commit(f.ctx); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			r, err := f.engine.Cancel(f.ctx, []task.ID{first, second}, engine.Cancellation{Actor: "bob"})
			if err != nil {
				note("bob", err)
				return
			}
			for i := range r {
				note("bob", r[i].Err)
			}
		})
		all.Go(func() {
			_, err := f.engine.Replay(f.ctx, first, engine.Replay{Actor: "cid", ResetAttempts: true})
			note("cid", err)
		})
		all.Wait()
		kept := map[string]int{}
		for id := range steps {
			acts, err := f.store.ActStore().FindActs(f.ctx, id)
			f.must(err)
			for _, a := range acts {
				if a.Actor != "cid" || a.StepID.IsZero() { // a replay is kept with the task and with each step
					kept[a.Actor]++
				}
			}
		}
		for _, actor := range []string{"ann", "bob", "cid"} {
			if kept[actor] != done[actor] {
				t.Errorf("%s was told of %d acts, and the audit trail has %d", actor, done[actor], kept[actor])
			}
		}
	}
}

// TestOrderOfCommits: a task committed late comes behind those committed before it, although its transaction began
// earlier.
func TestOrderOfCommits(t *testing.T) {
	t.Parallel()
	for _, seen := range []bool{true, false} {
		f := newForeign(t)
		ordered := engine.Submission{TaskType: "job", Meta: task.Meta{OrderingKey: "ann"}}
		submit := func() task.ID {
			r, err := f.engine.Submit(f.ctx, []engine.Submission{ordered}, false)
			f.must(err)
			f.must(f.giveTurns())
			return r[0].ID
		}
		head := submit()
		p, err := f.engine.PrepareSubmit(f.ctx, []engine.Submission{ordered})
		f.must(err)
		tx := f.begin()
		var last task.ID
		f.must(f.within(func(ctx context.Context, tx engine.Tx) error {
			r, err := f.engine.SubmitIn(ctx, tx, p)
			if err == nil {
				last = r[0].ID
			}
			return err
		}))
		p.Release(nil)
		order := []task.ID{submit(), submit(), last}
		f.must(tx.Commit(f.ctx))
		if seen {
			f.must(f.giveTurns())
		}
		for _, next := range order {
			r, err := f.engine.Cancel(f.ctx, []task.ID{head}, engine.Cancellation{Actor: "ann"})
			f.must(errors.Join(err, r[0].Err))
			got, err := f.engine.Task(f.ctx, next, 0)
			f.must(err)
			if got.Meta.Held {
				t.Errorf("seen %v: the task that was committed next did not get the turn", seen)
			}
			head = next
		}
	}
}

// TestOrderingInCallersTransaction: a task in an open caller's transaction holds up no other task with its ordering
// key. It is next after the commit, and leaves nothing after a roll-back.
func TestOrderingInCallersTransaction(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	ordered := engine.Submission{TaskType: "job", Meta: task.Meta{OrderingKey: "ann"}}
	submit := func() task.ID {
		t.Helper()
		r, err := f.engine.Submit(f.ctx, []engine.Submission{ordered}, false)
		f.must(err)
		f.must(f.giveTurns())
		return r[0].ID
	}
	within := func() (pgx.Tx, task.ID) {
		t.Helper()
		p, err := f.engine.PrepareSubmit(f.ctx, []engine.Submission{ordered})
		f.must(err)
		defer p.Release(nil)
		tx := f.begin()
		var id task.ID
		f.must(f.within(func(ctx context.Context, tx engine.Tx) error {
			r, err := f.engine.SubmitIn(ctx, tx, p)
			if err == nil {
				id = r[0].ID
			}
			return err
		}))
		return tx, id
	}
	held := func(id task.ID) bool {
		t.Helper()
		got, err := f.engine.Task(f.ctx, id, 0)
		f.must(err)
		return got.Meta.Held
	}
	cancel := func(id task.ID) {
		t.Helper()
		r, err := f.engine.Cancel(f.ctx, []task.ID{id}, engine.Cancellation{Actor: "ann"})
		f.must(errors.Join(err, r[0].Err))
	}

	tx, inside := within()
	first := submit()
	if held(first) {
		t.Error("a task waits for one that is not committed")
	}
	cancel(first) // it passes its turn on while the transaction is open
	second := submit()
	if held(second) {
		t.Error("the turn was lost")
	}
	f.must(tx.Commit(f.ctx))
	f.must(f.giveTurns())
	if !held(inside) {
		t.Error("two tasks have the turn")
	}
	cancel(second)
	if held(inside) {
		t.Error("the committed task did not get the turn")
	}
	cancel(inside)

	tx, _ = within()
	third := submit()
	f.must(tx.Rollback(f.ctx))
	cancel(third)
	if fourth := submit(); held(fourth) {
		t.Error("a task that was rolled back has the turn")
	}
}

// TestTurnOfACancelledTask: a task that ends while others give its key's turn keeps no turn.
func TestTurnOfACancelledTask(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	ordered := engine.Submission{TaskType: "job", Meta: task.Meta{OrderingKey: "ann"}}
	for range 60 {
		r, err := f.engine.Submit(f.ctx, []engine.Submission{ordered}, false)
		f.must(err)
		var givers sync.WaitGroup
		for range 3 {
			givers.Go(func() {
				if _, _, err := f.engine.GiveTurns(f.ctx); err != nil {
					t.Error(err)
				}
			})
		}
		done, err := f.engine.Cancel(f.ctx, []task.ID{r[0].ID}, engine.Cancellation{Actor: "ann"})
		f.must(errors.Join(err, done[0].Err))
		givers.Wait()
	}
	r, err := f.engine.Submit(f.ctx, []engine.Submission{ordered}, false)
	f.must(err)
	f.must(f.giveTurns())
	if last, err := f.engine.Task(f.ctx, r[0].ID, 0); err != nil || last.Meta.Held {
		t.Errorf("the turn stayed with a task that has ended (%v)", err)
	}
}
