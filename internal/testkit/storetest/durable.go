package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// RunDurable tests that commits survive reopening. open opens the store kept in dir, creating it the first time; the
// suite closes it.
func RunDurable(t *testing.T, open func(t *testing.T, dir string) engine.Database) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(f *fixture, reopen func())
	}{
		{"EverythingIsThere", everythingIsThere},
		{"QueuesGoOn", queuesGoOn},
		{"LeasesGoOn", leasesGoOn},
		{"IDsGoOn", idsGoOn},
		{"RollbackStaysUndone", rollbackStaysUndone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f := newFixture(t, open(t, dir))
			t.Cleanup(func() { f.must(f.store.Close()) })
			c.run(f, func() {
				f.must(f.store.Close())
				f.store = open(t, dir)
			})
		})
	}
}

func everythingIsThere(f *fixture, reopen func()) {
	ctx := f.Context()
	j, w := full(f), f.worker("w")
	f.insert(j)
	f.saveWorkers(w)
	f.write(func(ctx context.Context, tx engine.Tx) error { return addRecords(ctx, f, tx, j) })
	attempts := f.findAttempts(j)
	events, err := f.store.FindEvents(ctx, j.task.ID)
	f.must(err)
	acts, err := f.store.ActStore().FindActs(ctx, j.task.ID)
	f.must(err)
	routes := f.findRoutes()
	fresh := f.findTemplate("default", "fresh", "1")
	f.equal("records", []int{len(attempts), len(events), len(acts), len(routes)}, []int{1, 1, 1, 4})

	reopen()
	f.wantJob(j)
	f.wantWorker(w)
	f.equal("attempts", f.findAttempts(j), attempts)
	got, err := f.store.FindEvents(ctx, j.task.ID)
	f.must(err)
	f.equal("events", got, events)
	gotActs, err := f.store.ActStore().FindActs(ctx, j.task.ID)
	f.must(err)
	f.equal("acts", gotActs, acts)
	f.equal("routes", f.findRoutes(), routes)
	f.equal("template", f.findTemplate("default", "fresh", ""), fresh)
	f.equal("list", f.list(engine.TaskFilter{Tag: "blue", Limit: 10}), newest(j))
	named, isNew := f.take("default", "k", f.now, f.now.Add(time.Hour))
	f.equal("the key is free", isNew, false)
	f.equal("the key names", named, j.task.ID)
}

func queuesGoOn(f *fixture, reopen func()) {
	first, second, other := f.keyed("a", 2), f.keyed("a", 1), f.keyed("b", 3)
	f.insert(first, second, other)
	waiting := f.one()
	f.move(waiting, func(s *task.Step) error { return s.Claim(1, f.now, f.now.Add(time.Minute)) })
	f.move(waiting, func(s *task.Step) error { return s.Postpone(f.now, f.now.Add(time.Hour), task.Scheduling{}) })
	reopen()
	f.equal("ready", f.ready(10, f.routes[0].ID, f.routes[1].ID, f.routes[2].ID), stepIDs(second, first, other))
	f.equal("waiting", f.due(task.Timers, f.now.Add(time.Hour), 10), stepIDs(waiting))
}

func leasesGoOn(f *fixture, reopen func()) {
	j := f.one()
	f.move(j, func(s *task.Step) error { return s.Claim(7, f.now, f.now.Add(time.Minute)) })
	reopen()
	f.wantJob(j)
	f.equal("held", f.heldBy(7, 10), map[task.ID]bool{j.steps[0].ID: true})
	f.equal("due", f.due(task.Leases, f.now.Add(time.Minute), 10), stepIDs(j))
	f.finish(j, f.now.Add(time.Second))
	reopen()
	f.wantJob(j)
}

// A reopened store never repeats an ID, even with a clock that went back. The IDs of a store of one process also
// continue in order; those of a Cluster come from a source per process.
func idsGoOn(f *fixture, reopen func()) {
	j := f.build(f.diamond, time.Hour)
	f.insert(j)
	w := f.worker("w")
	w.ID = f.store.IDs().Take(f.now.Add(2*time.Hour).Time(), 1)
	f.saveWorkers(w)
	last := w.ID.Seq()
	seen := f.store.IDs().ID(last)
	reopen()
	if _, shared := f.store.(engine.Cluster); shared {
		if f.store.IDs().ID(last) == seen {
			f.Errorf("the ID %s can come again", seen)
		}
	} else {
		f.equal("the ID of a sequence", f.store.IDs().ID(last), seen)
		if next := f.store.IDs().Take(f.now.Time(), 1); next.Seq() <= last {
			f.Errorf("the sequence %d came after %d", next.Seq(), last)
		}
	}
	f.wantJob(j)
	f.wantWorker(w)
}

func rollbackStaysUndone(f *fixture, reopen func()) {
	j, gone := f.one(), f.build(f.single, 0)
	f.fail(func(ctx context.Context, tx engine.Tx) error { return insert(ctx, tx, gone) })
	reopen()
	f.wantJob(j)
	f.equal("task of the failed Write", f.find(gone.task.ID), (*task.Task)(nil))
}
