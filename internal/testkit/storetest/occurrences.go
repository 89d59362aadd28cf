package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func occurrenceCases() []testCase {
	return []testCase{
		{"Recurs", recurs},
		{"BoundedInNumber", occurrencesBounded},
		{"BoundedInBytes", occurrenceBytesBounded},
		{"FoundByTheLatest", foundByTheLatest},
		{"Thread", thread},
		{"StoryDeletedWithCase", storyDeleted},
	}
}

// occurrence is the next one of a case.
func (f *fixture) occurrence(c *task.Case, snapshot int) task.Occurrence {
	n := c.Occurrences + 1
	return task.Occurrence{No: n, At: f.now.Add(time.Duration(n) * time.Minute),
		Reason: task.CaseReasons[n%len(task.CaseReasons)],
		Cause:  task.CaseCauses[n%len(task.CaseCauses)], OriginalState: task.States[n%len(task.States)],
		Fingerprint: fmt.Sprintf("E%d", n), Retryable: n%2 == 0,
		Step: fmt.Sprintf("step_%d", n), Class: failure.Classes[n%len(failure.Classes)], Message: hostile()[n%len(hostile())],
		Snapshot: []byte(`{"n":"` + strings.Repeat("x", snapshot) + `"}`)}
}

// recur stores another occurrence. c becomes the stored case.
func (f *fixture) recur(c *task.Case, o task.Occurrence) {
	f.Helper()
	former := append(slices.Clone(c.Former), c.Latest())
	c.Recur(o)
	c.Former = former
	f.write(func(ctx context.Context, tx engine.Tx) error {
		found, err := f.store.CaseStore().PendingCases(ctx, tx, []task.ID{c.TaskID})
		if err != nil || len(found) != 1 {
			f.Fatalf("%d pending cases, %v", len(found), err)
		}
		found[0].Recur(o)
		return f.store.CaseStore().RecurCases(ctx, tx, found)
	})
}

func recurs(f *fixture) {
	j := f.one()
	c := f.openCase(j, task.ReasonMaxRetries, f.now)
	at := f.now.Time()
	c.Recovery = &task.Recovery{At: at, State: task.EnqueuingSteps, By: "ada", How: "replay"}
	c.Replays = task.Replays{Count: 2, At: &at, By: "ada"}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.CaseStore().SaveCases(ctx, tx, []*task.Case{c})
	})
	f.equal("recovered", f.findCase(c.ID), c)
	for range 3 {
		f.recur(c, f.occurrence(c, 10))
		f.equal("stuck again", f.findCase(c.ID), c)
	}
	if c.Former[0].Recovery == nil || c.Recovery != nil || c.Replays.Count != 2 {
		f.Errorf("the case is %+v", c)
	}
	last, err := f.store.CaseStore().LastCase(f.Context(), j.task.ID)
	f.must(err)
	f.equal("last of its task", last, c)
	list, err := f.store.CaseStore().ListCases(f.Context(), engine.CaseFilter{Limit: 1})
	f.must(err)
	c.Former, c.Snapshot = nil, nil
	f.equal("listed", list, []*task.Case{c})
}

func occurrencesBounded(f *fixture) {
	c := f.openCase(f.one(), task.ReasonManual, f.now)
	const repeats, batch = 1000, 100
	for range repeats / batch {
		list := make([]*task.Case, batch)
		for i := range list {
			c.Recur(f.occurrence(c, 1))
			next := *c
			list[i] = &next
		}
		f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.CaseStore().RecurCases(ctx, tx, list) })
	}
	c = f.findCase(c.ID)
	var kept []int
	for _, o := range append(c.Former, c.Latest()) {
		kept = append(kept, o.No)
	}
	f.equal("kept", kept, []int{1, 993, 994, 995, 996, 997, 998, 999, 1000, 1001})
	if c.Dropped() != repeats+1-task.KeptOccurrences {
		f.Errorf("%d were dropped", c.Dropped())
	}
}

func occurrenceBytesBounded(f *fixture) {
	c := f.openCase(f.one(), task.ReasonManual, f.now)
	f.recur(c, f.occurrence(c, 900<<10)) // between, alone within the bound
	f.recur(c, f.occurrence(c, 10))
	c = f.findCase(c.ID)
	if len(c.Former) != 2 {
		f.Fatalf("%d former occurrences are kept", len(c.Former))
	}
	f.recur(c, f.occurrence(c, 200<<10))
	c = f.findCase(c.ID)
	if len(c.Former) != 3 {
		f.Fatalf("%d former occurrences are kept", len(c.Former))
	}
	f.recur(c, f.occurrence(c, 2<<20)) // the latest is kept whatever its size
	c = f.findCase(c.ID)
	var kept []int
	for _, o := range append(c.Former, c.Latest()) {
		kept = append(kept, o.No)
	}
	f.equal("kept", kept, []int{1, 3, 4, 5})
	f.recur(c, f.occurrence(c, 10))
	c = f.findCase(c.ID)
	f.equal("beside a large one", []int{len(c.Former), c.Former[0].No}, []int{1, 1})
}

func foundByTheLatest(f *fixture) {
	c := f.openCase(f.one(), task.ReasonMaxRetries, f.now)
	first := f.occurrence(c, 1)
	first.Reason, first.Fingerprint = task.ReasonMaxRetries, "first"
	f.recur(c, first)
	second := f.occurrence(c, 1)
	second.Reason, second.Fingerprint, second.Retryable = task.ReasonStaleness, "second", true
	f.recur(c, second)
	yes := true
	for want, filters := range map[int][]engine.CaseFilter{
		0: {{Fingerprint: "first"}, {Reason: task.ReasonMaxRetries}},
		1: {{Fingerprint: "second"}, {Reason: task.ReasonStaleness}, {Retryable: &yes}},
	} {
		for _, filter := range filters {
			filter.Limit = 10
			list, err := f.store.CaseStore().ListCases(f.Context(), filter)
			f.must(err)
			urgent, err := f.store.CaseStore().UrgentCases(f.Context(), filter, settings.PriorityBases{})
			f.must(err)
			if len(list) != want || len(urgent) != want {
				f.Errorf("with %+v there are %d cases, %d of them urgent", filter, len(list), len(urgent))
			}
		}
	}
}

func thread(f *fixture) {
	j := f.one()
	c := f.openCase(j, task.ReasonManual, f.now)
	for i, text := range hostile() {
		if text != "" {
			f.change(j, c, task.CaseChange{Notes: &text, Actor: text}, f.now.Add(time.Duration(i)*time.Second))
		}
	}
	f.equal("thread", f.findCase(c.ID), c)
	// A transaction sees none of it, and its note comes last.
	late := "late"
	_, err := c.Change(task.CaseChange{Notes: &late, Actor: "ada"}, f.now)
	f.must(err)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		found, err := f.store.CaseStore().Case(ctx, tx, c.ID)
		if err != nil || len(found.Thread) != 0 {
			f.Fatalf("in a transaction there are %d notes, %v", len(found.Thread), err)
		}
		if _, err := found.Change(task.CaseChange{Notes: &late, Actor: "ada"}, f.now); err != nil {
			return err
		}
		return f.store.CaseStore().SaveCases(ctx, tx, []*task.Case{found})
	})
	f.equal("with one more", f.findCase(c.ID), c)
}

func storyDeleted(f *fixture) {
	kept, gone := f.one(), f.one()
	left := f.openCase(kept, task.ReasonManual, f.now)
	c := f.openCase(gone, task.ReasonManual, f.now)
	note := "note"
	for _, of := range []struct {
		j job
		c *task.Case
	}{{kept, left}, {gone, c}} {
		f.change(of.j, of.c, task.CaseChange{Notes: &note, Actor: "ada"}, f.now)
		f.recur(of.c, f.occurrence(of.c, 1))
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		gone.task.Meta.Case = task.HadClosed
		if err := tx.SaveTasks(ctx, []*task.Task{gone.task}); err != nil {
			return err
		}
		return f.store.CaseStore().DeleteCases(ctx, tx, []task.ID{c.ID})
	})
	f.equal("the other one", f.findCase(left.ID), left)
	// Another case with the same ID would meet leftovers.
	again := task.NewCase(c.ID, gone.task, gone.task.State, task.ReasonManual, f.now)
	again.Snapshot = []byte(`{}`)
	f.addCase(gone, again)
	f.recur(again, f.occurrence(again, 1))
	other := "another note"
	f.change(gone, again, task.CaseChange{Notes: &other, Actor: "eve"}, f.now)
	f.equal("under the same ID", f.findCase(c.ID), again)
}
