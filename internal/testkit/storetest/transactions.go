package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/nesting"
)

func transactionCases() []testCase {
	return []testCase{
		{"RollbackLeavesNoTrace", rollbackLeavesNoTrace},
		{"RollbackOfRowsInHand", rollbackOfRowsInHand},
		{"RollbackOfAClaim", rollbackOfAClaim},
		{"ErrorComesBack", errorComesBack},
		{"WriteAfterRollback", writeAfterRollback},
		{"InvisibleUntilCommitted", invisibleUntilCommitted},
		{"EmptyTransaction", emptyTransaction},
		{"EmptyArguments", emptyArguments},
		{"RowsAreTheCallersOwn", rowsAreTheCallersOwn},
		{"CancelledBefore", cancelledBefore},
		{"CancelledWhileWaiting", cancelledWhileWaiting},
		{"NestedRefused", nestedRefused},
		{"OthersNotNested", othersNotNested},
		{"Ping", ping},
		{"Closed", closed},
	}
}

var errBoom = errors.New("boom")

func (f *fixture) fail(fn func(ctx context.Context, tx engine.Tx) error) {
	f.Helper()
	err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return errBoom
	})
	if !errors.Is(err, errBoom) {
		f.Fatalf("Write returned %v, not the function's error", err)
	}
}

func rollbackLeavesNoTrace(f *fixture) {
	ctx := f.Context()
	stays, goes, fresh := f.many(1)[0], f.one(), f.build(f.single, 0)
	w := f.worker("w")
	f.saveWorkers(w)
	f.finish(goes, f.now)
	before := job{clone(stays.task), []*task.Step{clone(stays.steps[0])}}
	f.must(stays.steps[0].Claim(1, f.now, f.now))
	f.fail(func(ctx context.Context, tx engine.Tx) error {
		if err := insert(ctx, tx, fresh); err != nil {
			return err
		}
		if err := stays.save(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.DeleteFinished(ctx, f.now.Add(time.Hour), afterAllWindows, 10); err != nil {
			return err
		}
		if err := addRecords(ctx, f, tx, stays); err != nil {
			return err
		}
		dead := *w
		dead.State = task.WorkerDead
		if err := tx.SaveWorker(ctx, &dead); err != nil {
			return err
		}
		return tx.SaveWorker(ctx, f.worker("x"))
	})
	f.wantJob(before)
	f.wantJob(goes)
	f.equal("new task", f.find(fresh.task.ID), (*task.Task)(nil))
	f.equal("new steps", f.findSteps(fresh.task.ID), []*task.Step(nil))
	f.equal("ready", f.ready(10, f.routes[0].ID), stepIDs(before))
	f.equal("leases", f.due(task.Leases, f.now.Add(time.Hour), 10), []task.ID(nil))
	f.wantWorker(w)
	workers, err := f.store.Workers(ctx, 1)
	f.must(err)
	f.equal("workers", len(workers), 1)
	f.equal("routes", f.findRoutes(), f.routes[:])
	f.equal("template", f.findTemplate("default", "fresh", ""), (*task.Template)(nil))
	attempts := f.findAttempts(before)
	events, err := f.store.FindEvents(ctx, before.task.ID)
	f.must(err)
	acts, err := f.store.ActStore().FindActs(ctx, before.task.ID)
	f.must(err)
	f.equal("records", []int{len(attempts), len(events), len(acts)}, []int{0, 0, 0})
	_, isNew := f.take("default", "k", f.now, f.now.Add(time.Hour))
	f.equal("the key is free", isNew, true)
}

// addRecords adds one of everything that refers to a task or is looked up by name.
func addRecords(ctx context.Context, f *fixture, tx engine.Tx, j job) error {
	id, step := j.task.ID, j.steps[0].ID
	if err := tx.AddAttempts(ctx,
		[]task.Attempt{{StepID: step, TaskID: id, Token: 1, Outcome: task.Failed, FinishedAt: f.now}}); err != nil {
		return err
	}
	if err := tx.AddEvents(ctx, []task.Event{{TaskID: id, At: f.now, From: task.Pending, To: task.Errored}}); err != nil {
		return err
	}
	if err := f.store.ActStore().AddActs(ctx, tx, []task.Act{{TaskID: id, At: f.now, Kind: "x", Actor: "y"}}); err != nil {
		return err
	}
	if _, _, err := takeKey(ctx, f, tx, engine.KeyName{Namespace: "default", Key: "k"}, engine.Binding{Task: id}, f.now,
		f.now.Add(time.Hour)); err != nil {
		return err
	}
	if err := tx.InsertRoute(ctx, &task.Route{Namespace: "default", Handler: "fresh"}); err != nil {
		return err
	}
	_, err := tx.InsertTemplate(ctx, diamond("default", "fresh", "1"))
	return err
}

func clone[T any](v *T) *T {
	c := *v
	return &c
}

// A rollback discards cached rows: saved changes and unsaved ones.
func rollbackOfRowsInHand(f *fixture) {
	j := f.one()
	f.move(j, func(s *task.Step) error { return s.Claim(1, f.now, f.now.Add(time.Minute)) })
	for _, save := range []bool{true, false} {
		f.fail(func(ctx context.Context, tx engine.Tx) error {
			works, err := tx.Work(ctx, stepIDs(j))
			if err != nil {
				return err
			}
			changed := job{works[0].Task, []*task.Step{works[0].Step}}
			if err := changed.steps[0].Succeed(f.now, []byte("1")); err != nil {
				return err
			}
			changed.task.Moved(task.StepInProgress, task.StepComplete, f.now)
			if !save {
				return nil
			}
			return changed.save(ctx, tx)
		})
		f.write(func(ctx context.Context, tx engine.Tx) error {
			works, err := tx.Work(ctx, stepIDs(j))
			f.equal("work", works, []engine.Work{{Step: j.steps[0], Task: j.task}})
			if err != nil {
				return err
			}
			t, err := tx.Task(ctx, j.task.ID)
			f.equal("task", t, j.task)
			return err
		})
		f.equal("held", f.heldBy(1, 10), map[task.ID]bool{j.steps[0].ID: true})
		f.wantJob(j)
	}
}

func rollbackOfAClaim(f *fixture) {
	jobs := f.many(3)
	f.fail(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Ready(ctx, []int64{f.routes[0].ID}, 10)
		if err != nil {
			return err
		}
		for _, w := range works {
			if err := w.Step.Claim(1, f.now, f.now.Add(time.Minute)); err != nil {
				return err
			}
			if err := tx.SaveSteps(ctx, []*task.Step{w.Step}); err != nil {
				return err
			}
		}
		left, err := tx.Ready(ctx, []int64{f.routes[0].ID}, 10)
		f.equal("left", len(left), 0)
		return err
	})
	f.wantWork(jobs...)
	f.equal("ready", f.ready(10, f.routes[0].ID), stepIDs(jobs...))
	f.equal("held", f.heldBy(1, 10), map[task.ID]bool{})
	f.wantWork(jobs...)
}

// wantWork compares the steps of jobs with those in a transaction, which may come from elsewhere than a reader's.
func (f *fixture) wantWork(jobs ...job) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Work(ctx, stepIDs(jobs...))
		n := 0
		for _, j := range jobs {
			for _, s := range j.steps {
				f.equal("step in the transaction", works[n].Step, s)
				f.equal("what its task carries", works[n].Task.Meta, j.task.Meta)
				n++
			}
		}
		return err
	})
}

func errorComesBack(f *fixture) {
	want := task.Errorf(task.Conflict, "no")
	err := f.store.Write(f.Context(), func(context.Context, engine.Tx) error { return want })
	var got *task.Error
	if !errors.As(err, &got) || got != want {
		f.Errorf("Write returned %v, not the function's error", err)
	}
}

func writeAfterRollback(f *fixture) {
	j := f.build(f.single, 0)
	f.fail(func(ctx context.Context, tx engine.Tx) error { return insert(ctx, tx, j) })
	f.insert(j) // the same IDs are free
	f.wantJob(j)
}

// patience bounds the wait for an immediate effect.
const patience = 20 * time.Second

func invisibleUntilCommitted(f *fixture) {
	j := f.build(f.single, 0)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := insert(ctx, tx, j); err != nil {
			return err
		}
		type answer struct {
			found *task.Task
			err   error
		}
		seen := make(chan answer, 1)
		go func() {
			found, err := f.store.FindTask(context.Background(), j.task.ID)
			seen <- answer{found, err}
		}()
		select {
		case a := <-seen:
			f.equal("found by a reader", a.found, (*task.Task)(nil))
			return a.err
		case <-time.After(patience):
			return errors.New("a reader waits for a transaction that is open")
		}
	})
	f.wantJob(j)
}

func emptyTransaction(f *fixture) {
	f.write(func(context.Context, engine.Tx) error { return nil })
}

func emptyArguments(f *fixture) {
	f.write(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Work(ctx, nil)
		f.equal("works", len(works), 0)
		return errors.Join(err, tx.InsertTasks(ctx, nil, nil), tx.SaveSteps(ctx, nil), tx.SaveTasks(ctx, nil),
			tx.AddAttempts(ctx, nil), tx.AddEvents(ctx, nil), f.store.ActStore().AddActs(ctx, tx, nil))
	})
}

// Rows belong to the caller: changing one does not change the stored row.
func rowsAreTheCallersOwn(f *fixture) {
	j := full(f)
	want := job{clone(j.task), []*task.Step{clone(j.steps[0]), j.steps[1], j.steps[2], j.steps[3]}}
	want.task.Context = append([]byte(nil), j.task.Context...)
	want.task.Meta.Tags = append([]string(nil), j.task.Meta.Tags...)
	f.insert(j)
	spoil := func(t *task.Task, s *task.Step) {
		t.Context[0] = 'X'
		t.Meta.Tags[0], t.State, t.Counts = "spoilt", task.Cancelled, task.Counts{}
		s.State, s.Note, s.Key = task.StepCancelled, "spoilt", -1
	}
	spoil(j.task, j.steps[0])
	f.wantJob(want)
	spoil(f.find(j.task.ID), f.findSteps(j.task.ID)[0])
	f.wantJob(want)
	template := f.findTemplate("default", "diamond", "1")
	template.Name, template.Steps[0].Name, template.Steps[3].Dependencies[0] = "spoilt", "spoilt", "spoilt"
	f.equal("template", f.findTemplate("default", "diamond", "1"), f.diamond)
}

func cancelledBefore(f *fixture) {
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	j := f.build(f.single, 0)
	if err := f.store.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		return insert(ctx, tx, j)
	}); !errors.Is(err, context.Canceled) {
		f.Errorf("Write returned %v", err)
	}
	f.equal("task", f.find(j.task.ID), (*task.Task)(nil))
	if _, err := f.store.FindTask(ctx, j.task.ID); !errors.Is(err, context.Canceled) {
		f.Errorf("FindTask returned %v", err)
	}
	if _, _, err := f.store.ListTasks(ctx, engine.TaskFilter{Limit: 1}); !errors.Is(err, context.Canceled) {
		f.Errorf("ListTasks returned %v", err)
	}
}

// A caller whose context ends while another one writes returns immediately, and its changes are discarded.
func cancelledWhileWaiting(f *fixture) {
	var (
		inside, release = make(chan struct{}), make(chan struct{})
		first, second   = make(chan error, 1), make(chan error, 1)
		slow, late      = f.build(f.single, 0), f.build(f.single, 0)
	)
	go func() {
		once := false
		first <- f.store.Write(context.Background(), func(ctx context.Context, tx engine.Tx) error {
			if !once {
				once = true
				close(inside)
				<-release
			}
			return insert(ctx, tx, slow)
		})
	}()
	<-inside
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		second <- f.store.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return insert(ctx, tx, late) })
	}()
	cancel()
	select {
	case err := <-second:
		if !errors.Is(err, context.Canceled) {
			f.Errorf("Write returned %v", err)
		}
	case <-time.After(patience):
		f.Error("a cancelled Write waits for another one")
	}
	close(release)
	f.must(<-first)
	f.write(func(context.Context, engine.Tx) error { return nil }) // whatever was queued has run
	f.wantJob(slow)
	f.equal("task of the cancelled Write", f.find(late.task.ID), (*task.Task)(nil))
}

func ping(f *fixture) { f.must(f.store.Ping(f.Context())) }

func closed(f *fixture) {
	ctx := f.Context()
	f.must(f.store.Close())
	if err := f.store.Write(ctx, func(context.Context, engine.Tx) error { return nil }); err == nil {
		f.Error("Write after Close: no error")
	}
	if _, err := f.store.FindTask(ctx, task.ID{}); err == nil {
		f.Error("FindTask after Close: no error")
	}
	if err := f.store.Ping(ctx); err == nil {
		f.Error("Ping after Close: no error")
	}
	f.must(f.store.Close()) // twice is harmless
}

// nestedRefused: a call outside of its own transaction gets an error immediately, since it could wait for a connection
// without end. The transaction continues, and its context is ordinary afterwards.
func nestedRefused(f *fixture) {
	j := f.one()
	var inside context.Context
	f.write(func(ctx context.Context, _ engine.Tx) error {
		inside = context.WithoutCancel(ctx)
		if _, err := f.store.FindTask(ctx, j.task.ID); !errors.Is(err, nesting.Err) {
			f.Errorf("a query outside of the transaction: %v, want %v", err, nesting.Err)
		}
		err := f.store.Write(ctx, func(context.Context, engine.Tx) error { return nil })
		if !errors.Is(err, nesting.Err) {
			f.Errorf("a transaction in a transaction: %v, want %v", err, nesting.Err)
		}
		return nil
	})
	_, err := f.store.FindTask(inside, j.task.ID)
	f.must(err)
	f.wantJob(j)
}

// othersNotNested: another caller's context reads while a transaction is open.
func othersNotNested(f *fixture) {
	j := f.one()
	f.write(func(context.Context, engine.Tx) error {
		_, err := f.store.FindTask(f.Context(), j.task.ID)
		f.must(err)
		return nil
	})
}
