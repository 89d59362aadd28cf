package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func caseCases() []testCase {
	return []testCase{
		{"StoredAsGiven", caseAsGiven},
		{"HostileStrings", caseHostile},
		{"OnePendingPerTask", onePending},
		{"LastOfTask", lastCase},
		{"OfNobody", caseOfNobody},
		{"PendingOfMany", pendingOfMany},
		{"Evidence", evidence},
		{"SinceReset", sinceReset},
		{"DeletedWithTask", casesDeleted},
		{"PendingKeepsTask", pendingKeepsTask},
		{"Resolved", resolvedCases},
		{"MetaOfMany", metaOfMany},
		{"StateAt", stateAt},
	}
}

func (f *fixture) openCase(j job, reason task.CaseReason, at task.Instant) *task.Case {
	f.Helper()
	c := task.NewCase(f.store.IDs().Take(at.Time(), 1), j.task, j.task.State, reason, at)
	c.Snapshot = []byte(`{"task_uuid": "` + j.task.ID.String() + `"}`)
	f.addCase(j, c)
	return c
}

func (f *fixture) addCase(j job, c *task.Case) {
	f.Helper()
	if c.Status == task.CasePending {
		j.task.Meta.Case = task.HasPending
	} else if j.task.Meta.Case == "" {
		j.task.Meta.Case = task.HasClosed
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := tx.SaveTasks(ctx, []*task.Task{j.task}); err != nil {
			return err
		}
		return f.store.CaseStore().AddCases(ctx, tx, []*task.Case{c})
	})
}

func (f *fixture) change(j job, c *task.Case, ch task.CaseChange, at task.Instant) {
	f.Helper()
	_, err := c.Change(ch, at)
	f.must(err)
	j.task.Meta.Case = task.HasClosed
	if c.Status == task.CasePending {
		j.task.Meta.Case = task.HasPending
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := tx.SaveTasks(ctx, []*task.Task{j.task}); err != nil {
			return err
		}
		return f.store.CaseStore().SaveCases(ctx, tx, []*task.Case{c})
	})
}

func (f *fixture) findCase(id task.ID) *task.Case {
	f.Helper()
	c, err := f.store.CaseStore().FindCase(f.Context(), id)
	f.must(err)
	return c
}

func bare(c *task.Case) *task.Case {
	b := *c
	b.Snapshot = nil
	return &b
}

func caseAsGiven(f *fixture) {
	for i, reason := range task.CaseReasons {
		j := f.one()
		c := f.openCase(j, reason, f.now.Add(time.Duration(i)*time.Second))
		f.equal("case", f.findCase(c.ID), c)
		f.write(func(ctx context.Context, tx engine.Tx) error {
			got, err := f.store.CaseStore().Case(ctx, tx, c.ID)
			f.equal("in a transaction", got, bare(c))
			return err
		})
		notes := "found it"
		status := task.Resolutions[1+i%3]
		f.change(j, c, task.CaseChange{Status: status, Notes: &notes, Actor: "ada",
			Metadata: []byte(`{"root_cause":"pool"}`)}, f.now.Add(time.Hour))
		f.equal("resolved", f.findCase(c.ID), c)
		f.change(j, c, task.CaseChange{Reopen: true, Actor: "bob"}, f.now.Add(2*time.Hour))
		f.equal("open again", f.findCase(c.ID), c)
		f.wantJob(j)
	}
}

func caseHostile(f *fixture) {
	for _, s := range hostile() {
		j := f.one()
		c := f.openCase(j, task.ReasonManual, f.now)
		f.change(j, c, task.CaseChange{Status: task.CaseResolved, Notes: &s, Actor: s,
			Metadata: []byte(`{"n":9007199254740993}`)}, f.now+1)
		f.equal("case", f.findCase(c.ID), c)
	}
}

func onePending(f *fixture) {
	j := f.one()
	first := f.openCase(j, task.ReasonManual, f.now)
	second := f.openCase(j, task.ReasonStaleness, f.now+1)
	if got := f.findCase(second.ID); got != nil {
		f.Errorf("beside a pending case another one was stored: %+v", got)
	}
	f.change(j, first, task.CaseChange{Status: task.CaseCancelled, Actor: "ada"}, f.now+2)
	third := f.openCase(j, task.ReasonStaleness, f.now+3)
	f.equal("the next one", f.findCase(third.ID), third)
	f.equal("the one before", f.findCase(first.ID), first)
}

func lastCase(f *fixture) {
	j, other := f.one(), f.one()
	first := f.openCase(j, task.ReasonManual, f.now)
	f.change(j, first, task.CaseChange{Status: task.CaseCancelled, Actor: "ada"}, f.now+1)
	f.openCase(other, task.ReasonManual, f.now.Add(time.Minute))
	got, err := f.store.CaseStore().LastCase(f.Context(), j.task.ID)
	f.must(err)
	f.equal("the only one", got, first)
	second := f.openCase(j, task.ReasonStaleness, f.now.Add(time.Second))
	got, err = f.store.CaseStore().LastCase(f.Context(), j.task.ID)
	f.must(err)
	f.equal("the last one", got, second)
}

func caseOfNobody(f *fixture) {
	j := f.one()
	c := f.openCase(j, task.ReasonManual, f.now)
	// equal in a part of the ID
	alike := task.MakeID(c.ID.Seq(), c.ID.Low()+1)
	if got := f.findCase(alike); got != nil {
		f.Errorf("found %+v", got)
	}
	got, err := f.store.CaseStore().LastCase(f.Context(), task.MakeID(j.task.ID.Seq(), j.task.ID.Low()+1))
	if got != nil || err != nil {
		f.Errorf("found %+v, %v", got, err)
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if got, err := f.store.CaseStore().Case(ctx, tx, alike); got != nil || err != nil {
			f.Errorf("in a transaction: %+v, %v", got, err)
		}
		none, err := f.store.CaseStore().PendingCases(ctx, tx, []task.ID{alike})
		if len(none) > 0 {
			f.Errorf("pending: %+v", none)
		}
		return err
	})
}

func pendingOfMany(f *fixture) {
	jobs := f.many(600)
	var ids []task.ID
	want := map[task.ID]*task.Case{}
	for i, j := range jobs {
		ids = append(ids, j.task.ID)
		if i%3 > 0 {
			continue
		}
		c := f.openCase(j, task.ReasonMaxRetries, f.now)
		want[j.task.ID] = bare(c)
		if i%2 > 0 {
			f.change(j, c, task.CaseChange{Status: task.CaseFailed, Actor: "ada"}, f.now)
			delete(want, j.task.ID)
		}
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		cases, err := f.store.CaseStore().PendingCases(ctx, tx, ids)
		got := map[task.ID]*task.Case{}
		for _, c := range cases {
			got[c.TaskID] = c
		}
		f.equal("pending cases", got, want)
		return err
	})
}

func evidence(f *fixture) {
	j, plain, silent := f.build(f.diamond, 0), f.build(f.single, 0), f.build(f.single, 0)
	j.task.Context, plain.task.Context = []byte(`{"order":1}`), []byte(`[]`)
	f.insert(j, plain, silent)
	attempt := func(step int, token int64, message string) task.Attempt {
		a := task.Attempt{StepID: j.steps[step].ID, TaskID: j.task.ID, Token: token, Outcome: task.Failed, FinishedAt: f.now,
			After: task.StepEnqueued}
		if message != "" {
			a.Failure = &task.Failure{Message: message}
		}
		return a
	}
	first, last, other := attempt(0, 1, "the first"), attempt(0, 2, "the second"), attempt(1, 1, "beside it")
	f.addAttempts(first, last, other, attempt(1, 2, "")) // the last one did not fail
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.store.CaseStore().Evidence(ctx, tx,
			[]task.ID{j.task.ID, plain.task.ID, silent.task.ID, f.store.IDs().Take(f.now.Time(), 1)})
		byStep := func(a, b task.Attempt) int { return slices.Compare(a.StepID[:], b.StepID[:]) }
		slices.SortFunc(got[j.task.ID].Failures, byStep)
		f.equal("evidence", got,
			map[task.ID]engine.Evidence{j.task.ID: {Context: j.task.Context, Failures: []task.Attempt{last, other}},
				plain.task.ID: {Context: plain.task.Context}, silent.task.ID: {}})
		if err != nil {
			return err
		}
		charged, err := f.store.CaseStore().ChargedAttempts(ctx, tx, []task.ID{j.task.ID, plain.task.ID})
		slices.SortFunc(charged, func(a, b task.Attempt) int { return cmp.Or(byStep(a, b), cmp.Compare(a.Token, b.Token)) })
		want := []task.Attempt{first, last, other}
		for i := range want {
			want[i].Failure = nil
		}
		f.equal("charged attempts", charged, want)
		return err
	})
}

func sinceReset(f *fixture) {
	j, other := f.build(f.diamond, 0), f.build(f.single, 0)
	f.insert(j, other)
	attempt := func(j job, step int, token int64, o task.Outcome, at task.Instant) task.Attempt {
		return task.Attempt{StepID: j.steps[step].ID, TaskID: j.task.ID, Token: token, Outcome: o, FinishedAt: f.now + at,
			After: task.StepEnqueued}
	}
	reset, replayed, never := attempt(j, 0, 2, task.Snoozed, 3), attempt(j, 1, 2, task.NotStarted, 3),
		attempt(j, 2, 1, task.LeaseExpired, 1)
	elsewhere := attempt(other, 0, 1, task.LeaseExpired, 1)
	before := attempt(j, 1, 1, task.Failed, 2)
	before.Failure = &task.Failure{Message: "no"}
	f.addAttempts(attempt(j, 0, 1, task.LeaseExpired, 2), before, never, elsewhere, reset, replayed)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		act := func(step int, kind string, at task.Instant) task.Act {
			return task.Act{At: f.now + at, TaskID: j.task.ID, StepID: j.steps[step].ID, Kind: kind}
		}
		return f.store.ActStore().AddActs(ctx, tx, []task.Act{act(0, task.ActResetStep, 2), act(0, task.ActResetStep, 1),
			act(1, task.ActReplayStep, 2), act(2, task.ActGiveUp, 2)})
	})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.store.CaseStore().AttemptsSinceReset(ctx, tx, []task.ID{j.task.ID, other.task.ID})
		slices.SortStableFunc(got, func(a, b task.Attempt) int { return slices.Compare(a.StepID[:], b.StepID[:]) })
		want := []task.Attempt{reset, replayed, never, elsewhere}
		slices.SortStableFunc(want, func(a, b task.Attempt) int { return slices.Compare(a.StepID[:], b.StepID[:]) })
		f.equal("attempts since the last reset", got, want)
		return err
	})
}

func casesDeleted(f *fixture) {
	j := f.one()
	c := f.openCase(j, task.ReasonManual, f.now)
	f.change(j, c, task.CaseChange{Status: task.CaseResolved, Actor: "ada", Key: "ops"}, f.now)
	f.equal("key", f.findCase(c.ID).ResolvedKey, "ops")
	f.dropCase(j, c)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := f.store.WatchStore().Watch(ctx, tx, []engine.Watch{{Task: j.task.ID, At: f.now}}); err != nil {
			return err
		}
		return f.store.ActStore().AddActs(ctx, tx,
			[]task.Act{{At: f.now, TaskID: j.task.ID, CaseID: c.ID, Kind: task.ActUpdateCase}})
	})
	f.finish(j, f.now)
	f.delete(f.now.Add(time.Hour), 10, 1)
	if got := f.findCase(c.ID); got != nil {
		f.Errorf("the case is still there: %+v", got)
	}
	f.equal("watches", f.watches(f.now, 10), []engine.Watch(nil))
}

func (f *fixture) delete(before task.Instant, limit, want int) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		n, err := tx.DeleteFinished(ctx, before, afterAllWindows, limit)
		if n != want {
			f.Errorf("%d tasks were deleted, want %d", n, want)
		}
		return err
	})
}

func pendingKeepsTask(f *fixture) {
	jobs := f.many(3)
	c := f.openCase(jobs[0], task.ReasonManual, f.now)
	for _, j := range jobs {
		f.finish(j, f.now.Add(time.Minute))
	}
	f.delete(f.now.Add(time.Hour), 2, 2) // it does not block others
	f.wantJob(jobs[0])
	f.change(jobs[0], c, task.CaseChange{Status: task.CaseResolved, Actor: "ada"}, f.now)
	f.delete(f.now.Add(time.Hour), 2, 0)
	f.wantJob(jobs[0])
	f.dropCase(jobs[0], c)
	f.delete(f.now.Add(time.Hour), 2, 1)
}

func (f *fixture) dropCase(j job, c *task.Case) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		j.task.Meta.Case = task.HadClosed
		if err := tx.SaveTasks(ctx, []*task.Task{j.task}); err != nil {
			return err
		}
		return f.store.CaseStore().DeleteCases(ctx, tx, []task.ID{c.ID})
	})
}

// resolvedCases are found in the order of their resolution, and deleted one by one.
func resolvedCases(f *fixture) {
	hour := func(n int) task.Instant { return f.now.Add(time.Duration(n) * time.Hour) }
	jobs := f.many(4)
	var cases []*task.Case
	for i, j := range jobs {
		c := f.openCase(j, task.ReasonManual, f.now)
		if i < 3 { // the last stays pending
			f.change(j, c, task.CaseChange{Status: task.CaseFailed, Actor: "ada"}, hour(3-i))
		}
		cases = append(cases, c)
	}
	find := func(before task.Instant, limit int) []task.ID {
		list, err := f.store.CaseStore().ResolvedCases(f.Context(), before, limit)
		f.must(err)
		return caseIDs(list)
	}
	f.equal("resolved long ago", find(hour(3), 10), caseIDs([]*task.Case{cases[2], cases[1]}))
	f.equal("all", find(hour(100), 10), caseIDs([]*task.Case{cases[2], cases[1], cases[0]}))
	f.equal("the first", find(hour(100), 1), caseIDs(cases[2:3]))
	second := f.openCase(jobs[2], task.ReasonMaxRetries, hour(4))
	f.write(func(ctx context.Context, tx engine.Tx) error {
		list, err := f.store.CaseStore().CasesOf(ctx, tx,
			[]task.ID{jobs[2].task.ID, jobs[3].task.ID, jobs[2].task.ID, f.store.IDs().Take(f.now.Time(), 1)})
		slices.SortFunc(list, func(a, b *task.Case) int { return slices.Compare(a.ID[:], b.ID[:]) })
		f.equal("cases of two tasks", list, []*task.Case{bare(cases[2]), bare(cases[3]), bare(second)})
		if err != nil {
			return err
		}
		return f.store.CaseStore().DeleteCases(ctx, tx, []task.ID{cases[2].ID})
	})
	f.equal("what is left", find(hour(100), 10), caseIDs([]*task.Case{cases[1], cases[0]}))
	f.equal("the deleted one", f.findCase(cases[2].ID), (*task.Case)(nil))
	f.dropCase(jobs[1], cases[1])
	f.dropCase(jobs[0], cases[0])
	f.equal("in the end", find(hour(100), 10), []task.ID(nil))
}

func metaOfMany(f *fixture) {
	jobs := f.many(5)
	for i, j := range jobs {
		f.must(j.steps[0].Cancel(f.now))
		j.task.Counts.Move(task.StepEnqueued, task.StepCancelled)
		j.task.Cancel(f.now)
		if i%2 == 0 {
			j.task.Meta.CancelReason = fmt.Sprint("reason ", i)
		}
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for _, j := range jobs {
			if err := tx.SaveSteps(ctx, j.steps); err != nil {
				return err
			}
		}
		var tasks []*task.Task
		for _, j := range jobs {
			tasks = append(tasks, j.task)
		}
		return tx.SaveTasks(ctx, tasks)
	})
	for _, j := range jobs {
		f.wantJob(j)
	}
}

// stateAt is kept by every way of saving, and for tasks of different age.
func stateAt(f *fixture) {
	jobs := f.many(4)
	save := func() {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			var tasks []*task.Task
			for _, j := range jobs {
				tasks = append(tasks, j.task)
			}
			return tx.SaveTasks(ctx, tasks)
		})
		for _, j := range jobs {
			f.wantJob(j)
		}
	}
	save()
	for i, j := range jobs[:3] {
		j.task.Progress(f.now.Add(time.Duration(i/2) * time.Hour))
	}
	save()
	jobs[0].task.Progress(1)
	save()
}
