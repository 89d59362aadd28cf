package scenario_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// submitWithin submits in a transaction of the caller that stays open.
func (f *foreign) submitWithin(in ...engine.Submission) (pgx.Tx, []engine.Receipt) {
	f.t.Helper()
	p, err := f.engine.PrepareSubmit(f.ctx, in)
	f.must(err)
	defer p.Release(nil)
	tx := f.begin()
	var receipts []engine.Receipt
	f.must(f.within(func(ctx context.Context, tx engine.Tx) (err error) {
		receipts, err = f.engine.SubmitIn(ctx, tx, p)
		return err
	}))
	return tx, receipts
}

// TestUniqueInCallersTransaction: a submission in a caller's transaction takes its unique key there. While it is
// open, submissions with the same key wait, others do not, and the task that guards a key can end.
func TestUniqueInCallersTransaction(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	unique := func(n string, conflict task.OnConflict) engine.Submission {
		return engine.Submission{TaskType: "job", Context: []byte(n), Unique: &task.Unique{OnConflict: conflict}}
	}
	submit := func(in engine.Submission) engine.Receipt {
		t.Helper()
		r, err := f.engine.Submit(f.ctx, []engine.Submission{in}, false)
		f.must(err)
		return r[0]
	}
	cancel := func(id task.ID) {
		t.Helper()
		r, err := f.engine.Cancel(f.ctx, []task.ID{id}, engine.Cancellation{Actor: "ann"})
		f.must(errors.Join(err, r[0].Err))
	}

	// Creates a task: the same key waits for the commit and gets that task.
	tx, inside := f.submitWithin(unique("1", ""), unique("1", ""))
	if !inside[0].Created || inside[1].Created || inside[1].ID != inside[0].ID {
		t.Errorf("two duplicates in one transaction: %+v", inside)
	}
	if !submit(unique("2", "")).Created {
		t.Error("another key is not free")
	}
	waiting := make(chan engine.Receipt, 1)
	go func() {
		r, err := f.engine.Submit(f.ctx, []engine.Submission{unique("1", "")}, false)
		if err != nil {
			t.Error(err)
		}
		waiting <- r[0]
	}()
	submit(unique("3", "")) // shares no transaction with what waits
	select {
	case r := <-waiting:
		t.Errorf("answered before the commit: %+v", r)
	default:
	}
	f.must(tx.Commit(f.ctx))
	if r := <-waiting; r.Created || r.ID != inside[0].ID {
		t.Errorf("after the commit: %+v", r)
	}

	// Answered with an existing task: holds up nobody, not even the end of that task.
	tx, again := f.submitWithin(unique("1", ""))
	if again[0].Created || again[0].ID != inside[0].ID {
		t.Errorf("a duplicate in a caller's transaction: %+v", again)
	}
	cancel(inside[0].ID)
	if r := submit(unique("1", "")); !r.Created {
		t.Errorf("the key is not free: %+v", r)
	}
	f.must(tx.Rollback(f.ctx))

	// Rolled back: the replaced task continues and guards its key.
	old := submit(unique("4", ""))
	tx, replacing := f.submitWithin(unique("4", task.ReplaceExisting))
	if m := replacing[0].Unique; !replacing[0].Created || m == nil || m.Outcome != engine.UniqueReplaced ||
		m.Holder.Task != old.ID {
		t.Errorf("a replacement: %+v", replacing[0])
	}
	f.must(tx.Rollback(f.ctx))
	if r := submit(unique("4", "")); r.Created || r.ID != old.ID || r.State.Settled() {
		t.Errorf("after the rollback: %+v", r)
	}
	tx, replacing = f.submitWithin(unique("4", task.ReplaceExisting))
	f.must(tx.Commit(f.ctx))
	if r := submit(unique("4", "")); r.ID != replacing[0].ID {
		t.Errorf("after the commit: %+v", r)
	}
	if got, err := f.engine.Task(f.ctx, old.ID, 0); err != nil || got.State != task.Cancelled {
		t.Errorf("the replaced task: %+v, %v", got, err)
	}
}
