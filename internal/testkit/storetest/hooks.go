package storetest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func hookCases() []testCase {
	return []testCase{
		{"AfterCommit", afterCommit},
		{"OrderAfterCommit", orderAfterCommit},
		{"OrderAfterRollback", orderAfterRollback},
		{"AfterPanic", hooksAfterPanic},
		{"AfterFailedCommit", hooksAfterFailedCommit},
		{"AfterCallerHasLeft", hooksAfterCallerHasLeft},
		{"OfTheLastTransactionOnly", hooksOfTheLastTransactionOnly},
		{"OfEachRun", hooksOfEachRun},
	}
}

// A commit hook runs once, sees the commit, and does not run after a rollback.
func afterCommit(f *fixture) {
	j, seen := f.build(f.single, 0), []*task.Task{}
	follow := func(tx engine.Tx) {
		ok := tx.Handle().AfterCommit(func() {
			k, err := f.store.FindTask(f.Context(), j.task.ID)
			f.must(err)
			seen = append(seen, k)
		})
		if !ok {
			f.Error("AfterCommit of a transaction of the store's own reports that nobody learns of the commit")
		}
	}
	f.fail(func(ctx context.Context, tx engine.Tx) error {
		follow(tx)
		return insert(ctx, tx, j)
	})
	if len(seen) > 0 {
		f.Error("what was to follow a commit followed a roll-back")
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		follow(tx)
		return insert(ctx, tx, j)
	})
	if len(seen) != 1 || seen[0] == nil {
		f.Errorf("after the commit the task was looked for %d times: %v", len(seen), seen)
	}
}

// hooked records the calls of hooks.
type hooked struct {
	*fixture
	calls []string
	sure  []bool // of the calls after a rollback
}

// register registers named hooks for both ends of a transaction; names may repeat.
func (h *hooked) register(tx engine.Tx, names ...string) {
	h.Helper()
	for _, name := range names {
		if !tx.Handle().AfterCommit(func() { h.calls = append(h.calls, "commit "+name) }) {
			h.Error("AfterCommit reports that a commit of the store itself cannot be observed")
		}
		tx.Handle().AfterRollback(func(sure bool) {
			h.calls, h.sure = append(h.calls, "rollback "+name), append(h.sure, sure)
		})
	}
}

// rehearsed removes the calls of runs rolled back before the last run of a successful Write.
func (h *hooked) rehearsed(perRun int) []string {
	last := max(len(h.calls)-perRun, 0)
	for _, call := range h.calls[:last] {
		if call[:len("rollback")] != "rollback" {
			h.Errorf("a run before the last called %q", call)
		}
	}
	return h.calls[last:]
}

// Hooks run in the order of their registration, once each, before Write returns.
func orderAfterCommit(f *fixture) {
	h := &hooked{fixture: f}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		h.register(tx, "a", "b")
		err := insert(ctx, tx, f.build(f.single, 0))
		h.register(tx, "a")
		return err
	})
	f.equal("hooks", h.rehearsed(3), []string{"commit a", "commit b", "commit a"})
}

// An error of the function rolls back for sure, and runs the rollback hooks in order.
func orderAfterRollback(f *fixture) {
	h := &hooked{fixture: f}
	f.fail(func(ctx context.Context, tx engine.Tx) error {
		h.register(tx, "a", "b")
		err := insert(ctx, tx, f.build(f.single, 0))
		h.register(tx, "a")
		return err
	})
	f.equal("hooks", h.calls, []string{"rollback a", "rollback b", "rollback a"})
	f.equal("sure", h.sure, []bool{true, true, true})
}

func hooksAfterPanic(f *fixture) {
	h, j := &hooked{fixture: f}, f.build(f.single, 0)
	func() {
		defer func() { _ = recover() }() // a store may also return the panic as an error
		err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
			h.register(tx, "a")
			if err := insert(ctx, tx, j); err != nil {
				return err
			}
			panic("boom")
		})
		if err == nil {
			f.Error("Write returned nil after a panic")
		}
	}()
	f.equal("hooks", h.calls, []string{"rollback a"})
	f.equal("sure", h.sure, []bool{true})
	f.equal("task", f.find(j.task.ID), (*task.Task)(nil))
}

// A failed commit runs the rollback hooks. The function breaks a constraint and passes on the store's error, which some
// stores report only at the commit.
func hooksAfterFailedCommit(f *fixture) {
	h, j, other := &hooked{fixture: f}, f.one(), f.build(f.single, 0)
	err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
		h.register(tx, "a", "a")
		if err := insert(ctx, tx, other); err != nil {
			return err
		}
		return insert(ctx, tx, j) // exists
	})
	if err == nil {
		f.Fatal("a task was stored twice")
	}
	f.equal("hooks", h.calls, []string{"rollback a", "rollback a"})
	f.equal("task", f.find(other.task.ID), (*task.Task)(nil))
	f.wantJob(j)
}

// A caller that leaves just before the commit gets the hooks of the real outcome.
func hooksAfterCallerHasLeft(f *fixture) {
	h, j := &hooked{fixture: f}, f.build(f.single, 0)
	ctx, leave := context.WithCancel(f.Context())
	err := f.store.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		h.register(tx, "a")
		err := insert(ctx, tx, j)
		leave()
		return err
	})
	stored := f.find(j.task.ID) != nil
	switch {
	case err == nil: // the store committed nevertheless
		f.equal("hooks", h.rehearsed(1), []string{"commit a"})
		f.equal("stored", stored, true)
	case !errors.Is(err, context.Canceled):
		f.Errorf("Write returned %v, not that the caller has left", err)
	default:
		f.equal("hooks", h.calls, []string{"rollback a"})
		if stored && h.sure[0] {
			f.Error("the task is stored, although the rollback was sure")
		}
	}
}

// Hooks belong to one transaction.
func hooksOfTheLastTransactionOnly(f *fixture) {
	h := &hooked{fixture: f}
	f.fail(func(_ context.Context, tx engine.Tx) error {
		h.register(tx, "a")
		return nil
	})
	f.write(func(_ context.Context, tx engine.Tx) error {
		h.register(tx, "b")
		return nil
	})
	h.calls = slices.DeleteFunc(h.calls, func(call string) bool { return call == "rollback b" }) // a rehearsal
	f.one()
	f.fail(func(context.Context, engine.Tx) error { return nil })
	f.equal("hooks", h.calls, []string{"rollback a", "commit b"})
}

// Each run of a transaction calls one of its hooks, before the next run begins. Callers share groups or lose races, and
// some fail, so that functions run again.
func hooksOfEachRun(f *fixture) {
	j := f.one()
	var repeated atomic.Int64
	together(func(caller int) {
		runs, commits, rollbacks, fails := 0, 0, 0, caller%3 == 0
		err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
			if runs++; rollbacks != runs-1 || commits != 0 {
				f.Errorf("before run %d there were %d rollbacks and %d commits", runs, rollbacks, commits)
			}
			tx.Handle().AfterCommit(func() { commits++ })
			tx.Handle().AfterRollback(func(bool) { rollbacks++ })
			t, err := tx.Task(ctx, j.task.ID)
			if err != nil {
				return err
			}
			t.Meta.ContextEdits++
			if err := tx.SaveTasks(ctx, []*task.Task{t}); err != nil {
				return err
			}
			if fails {
				return errBoom
			}
			return nil
		})
		if fails != errors.Is(err, errBoom) || !fails && err != nil {
			f.Errorf("Write returned %v", err)
		}
		want := 1
		if fails {
			want = 0
		}
		if commits != want || commits+rollbacks != runs {
			f.Errorf("%d runs called %d hooks of a commit and %d of a rollback", runs, commits, rollbacks)
		}
		repeated.Add(int64(runs - 1))
	})
	f.Logf("%d runs were repeated", repeated.Load())
}
