package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func caseListCases() []testCase {
	return []testCase{
		{"Filters", caseFilters},
		{"Pages", casePages},
		{"Failures", caseFailures},
		{"ByState", caseFilterByState},
		{"Urgent", urgentCases},
		{"Counts", countCases},
		{"NoCases", noCases},
		{"FailedTasks", failedTasks},
		{"LastFailures", lastFailures},
		{"CaseBytes", caseBytes},
		{"ActBytes", actBytes},
		{"Failures", countFailures},
		{"Audit", audit},
	}
}

func caseIDs(cases []*task.Case) []task.ID {
	var ids []task.ID
	for _, c := range cases {
		ids = append(ids, c.ID)
	}
	return ids
}

func (f *fixture) listCases(filter engine.CaseFilter) []task.ID {
	f.Helper()
	cases, err := f.store.CaseStore().ListCases(f.Context(), filter)
	f.must(err)
	for _, c := range cases {
		if c.Snapshot != nil {
			f.Errorf("the list carries a snapshot: %s", c.Snapshot)
		}
	}
	return caseIDs(cases)
}

func caseFilters(f *fixture) {
	minute := func(n int) task.Instant { return f.now.Add(time.Duration(n) * time.Minute) }
	flow := f.build(f.diamond, 0)
	f.insert(flow)
	a, b, c := f.one(), f.one(), flow
	first := f.openCase(a, task.ReasonManual, minute(0))
	f.change(a, first, task.CaseChange{Status: task.CaseResolved, Actor: "ada"}, minute(5))
	second := f.openCase(b, task.ReasonStaleness, minute(1))
	third := f.openCase(c, task.ReasonManual, minute(2))
	fourth := f.openCase(a, task.ReasonMaxRetries, minute(120))
	all := []task.ID{fourth.ID, third.ID, second.ID, first.ID}
	for name, test := range map[string]struct {
		filter engine.CaseFilter
		want   []task.ID
	}{
		"All":       {engine.CaseFilter{}, all},
		"Status":    {engine.CaseFilter{Status: task.CasePending}, all[:3]},
		"Resolved":  {engine.CaseFilter{Status: task.CaseResolved}, all[3:]},
		"Reason":    {engine.CaseFilter{Reason: task.ReasonManual}, []task.ID{third.ID, first.ID}},
		"Both":      {engine.CaseFilter{Reason: task.ReasonManual, Status: task.CasePending}, []task.ID{third.ID}},
		"Namespace": {engine.CaseFilter{Namespace: "default"}, all},
		"Elsewhere": {engine.CaseFilter{Namespace: "other"}, nil},
		"Task":      {engine.CaseFilter{TaskName: "diamond"}, []task.ID{third.ID}},
		"Handler":   {engine.CaseFilter{Namespace: "default", TaskName: "a"}, []task.ID{fourth.ID, second.ID, first.ID}},
		"After":     {engine.CaseFilter{After: minute(1)}, all[:3]},
		"Before":    {engine.CaseFilter{Before: minute(1)}, all[3:]},
		"Between":   {engine.CaseFilter{After: minute(1), Before: minute(120)}, []task.ID{third.ID, second.ID}},
		"Everything": {engine.CaseFilter{Status: task.CasePending, Reason: task.ReasonManual, Namespace: "default",
			TaskName: "diamond",
			After:    minute(2), Before: minute(3)}, []task.ID{third.ID}},
		"Hostile": {engine.CaseFilter{TaskName: "'; --", Reason: "x' OR 1=1"}, nil},
	} {
		test.filter.Limit = 10
		f.equal(name, f.listCases(test.filter), test.want)
	}
}

// manyCases opens cases of as many tasks, a minute apart, oldest first.
func (f *fixture) manyCases(n int, reason func(i int) task.CaseReason) []*task.Case {
	f.Helper()
	var cases []*task.Case
	for i, j := range f.many(n) {
		cases = append(cases, f.openCase(j, reason(i), f.now.Add(time.Duration(i)*time.Minute)))
	}
	return cases
}

func casePages(f *fixture) {
	cases := f.manyCases(9, func(int) task.CaseReason { return task.ReasonManual })
	slices.Reverse(cases)
	want := caseIDs(cases)
	for _, page := range []struct{ offset, limit, from, to int }{{0, 4, 0, 4}, {4, 4, 4, 8}, {8, 4, 8, 9}, {9, 4, 9, 9},
		{50, 4, 9, 9}} {
		f.equal("page", f.listCases(engine.CaseFilter{Limit: page.limit, Offset: page.offset}), want[page.from:page.to])
	}
}

func urgentCases(f *fixture) {
	cases := f.manyCases(12, func(i int) task.CaseReason { return task.CaseReasons[i%3] })
	for _, c := range cases[:3] {
		f.change(job{task: f.find(c.TaskID)}, c, task.CaseChange{Status: task.CaseResolved, Actor: "ada"}, f.now)
	}
	bases := settings.PriorityBases{}
	list := func(filter engine.CaseFilter) []task.ID {
		got, err := f.store.CaseStore().UrgentCases(f.Context(), filter, bases)
		f.must(err)
		return caseIDs(got)
	}
	f.equal("all", list(engine.CaseFilter{Limit: 100}), caseIDs(cases[3:]))
	f.equal("those resolved", list(engine.CaseFilter{Limit: 100, Status: task.CaseResolved}), caseIDs(cases[3:]))
	f.equal("the first", list(engine.CaseFilter{Limit: 2}), caseIDs(cases[3:5]))
	f.equal("a page", list(engine.CaseFilter{Limit: 3, Offset: 4}), caseIDs(cases[7:10]))
	f.equal("the last", list(engine.CaseFilter{Limit: 3, Offset: 7}), caseIDs(cases[10:]))
	f.equal("beyond", list(engine.CaseFilter{Limit: 3, Offset: 20}), []task.ID(nil))
	f.equal("of a reason", list(engine.CaseFilter{Limit: 2, Reason: task.CaseReasons[1]}),
		[]task.ID{cases[4].ID, cases[7].ID})
	f.equal("of a task", list(engine.CaseFilter{Limit: 100, TaskName: "a", Namespace: "default"}), caseIDs(cases[3:]))
	f.equal("of another", list(engine.CaseFilter{Limit: 100, TaskName: "b"}), []task.ID(nil))
	f.equal("opened after", list(engine.CaseFilter{Limit: 100, After: cases[9].OpenedAt}), caseIDs(cases[9:]))
	// The reasons alternate: 0, 1, 2, 0 ...
	bases = settings.PriorityBases{StalenessTimeout: 4, MaxRetriesExceeded: 1}
	f.equal("by the bases of reasons", list(engine.CaseFilter{Limit: 5}),
		caseIDs([]*task.Case{cases[5], cases[3], cases[4], cases[8], cases[6]}))
	f.equal("a page of that", list(engine.CaseFilter{Limit: 2, Offset: 2}), caseIDs([]*task.Case{cases[4], cases[8]}))
}

func countCases(f *fixture) {
	cases := f.manyCases(8, func(i int) task.CaseReason { return task.CaseReasons[i%2] })
	for i, c := range cases[:4] {
		f.change(job{task: f.find(c.TaskID)}, c, task.CaseChange{Status: task.CaseResolved, Actor: "ada"},
			c.OpenedAt.Add(time.Duration(i+1)*time.Minute))
	}
	minute := int64(time.Minute / time.Microsecond)
	of := func(reason int, status task.Resolution, n int, oldest, newest *task.Case, minutes int64) engine.CaseCount {
		return engine.CaseCount{Reason: task.CaseReasons[reason], Status: status, Cases: n, Oldest: oldest.OpenedAt,
			Newest: newest.OpenedAt, OpenFor: minutes * minute}
	}
	got, err := f.store.CaseStore().CountCases(f.Context(), engine.CaseFilter{})
	f.must(err)
	f.equal("counts", got, []engine.CaseCount{
		of(0, task.CaseResolved, 2, cases[0], cases[2], 4), of(0, task.CasePending, 2, cases[4], cases[6], 0),
		of(1, task.CaseResolved, 2, cases[1], cases[3], 6), of(1, task.CasePending, 2, cases[5], cases[7], 0)})
	got, err = f.store.CaseStore().CountCases(f.Context(),
		engine.CaseFilter{Reason: task.CaseReasons[0], After: cases[6].OpenedAt})
	f.must(err)
	f.equal("some", got, []engine.CaseCount{of(0, task.CasePending, 1, cases[6], cases[6], 0)})
}

func noCases(f *fixture) {
	f.equal("list", f.listCases(engine.CaseFilter{Limit: 10}), []task.ID(nil))
	urgent, err := f.store.CaseStore().UrgentCases(f.Context(), engine.CaseFilter{Limit: 10}, settings.PriorityBases{})
	f.must(err)
	counts, err := f.store.CaseStore().CountCases(f.Context(), engine.CaseFilter{})
	f.must(err)
	if len(urgent)+len(counts) > 0 {
		f.Errorf("found %v and %v", urgent, counts)
	}
}

func audit(f *fixture) {
	a, b := f.one(), f.one()
	c := f.openCase(b, task.ReasonManual, f.now)
	second := func(n int) task.Instant { return f.now.Add(time.Duration(n) * time.Second) }
	worker := f.store.IDs().Take(f.now.Time(), 1)
	all := []task.Act{
		{At: second(0), TaskID: a.task.ID, StepID: a.steps[0].ID, Kind: "reset_for_retry", Actor: "ada", Reason: "up again",
			From: "error", To: "pending"},
		{At: second(1), TaskID: b.task.ID, CaseID: c.ID, Kind: task.ActOpenCase, Actor: "ada", To: "pending",
			Data: []byte(`{"a":1}`)},
		{At: second(2), TaskID: b.task.ID, CaseID: c.ID, Kind: task.ActUpdateCase, Actor: "bob", From: "pending",
			To: "cancelled"},
		{At: second(3), TaskID: a.task.ID, Kind: "cancel", Actor: "bob", From: "error", To: "cancelled",
			Namespace: "video", Template: "encode", Auth: task.AuthNone},
		{At: second(4), WorkerID: worker, Kind: "drain_worker", Actor: "ada", Auth: task.AuthKey, Key: "ops"},
		{At: second(5), Namespace: "video", Template: "cut", Kind: "register_template", Actor: "bob", Auth: task.AuthKey,
			Key: "deploy"},
		{At: second(6), Kind: "use_key", Actor: "ops", Auth: task.AuthKey, Key: "ops", Data: []byte(`{"node":"n"}`)},
	}
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.ActStore().AddActs(ctx, tx, all[:2]) })
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.ActStore().AddActs(ctx, tx, all[2:]) })
	list := func(filter engine.ActFilter) []task.Act {
		got, err := f.store.ActStore().ListActs(f.Context(), filter)
		f.must(err)
		slices.Reverse(got)
		return got
	}
	numbered := list(engine.ActFilter{Limit: 10})
	for name, test := range map[string]struct {
		filter engine.ActFilter
		want   []task.Act
	}{
		"All":       {engine.ActFilter{}, all},
		"Task":      {engine.ActFilter{Task: a.task.ID}, []task.Act{all[0], all[3]}},
		"Nobody":    {engine.ActFilter{Task: task.MakeID(a.task.ID.Seq(), a.task.ID.Low()+1)}, nil},
		"Case":      {engine.ActFilter{Case: c.ID}, all[1:3]},
		"Actor":     {engine.ActFilter{Actor: "ada"}, []task.Act{all[0], all[1], all[4]}},
		"Kind":      {engine.ActFilter{Kind: "cancel"}, all[3:4]},
		"Key":       {engine.ActFilter{Key: "ops"}, []task.Act{all[4], all[6]}},
		"NoKey":     {engine.ActFilter{Key: "' OR 1=1 --"}, nil},
		"Worker":    {engine.ActFilter{Worker: worker}, all[4:5]},
		"NoWorker":  {engine.ActFilter{Worker: a.task.ID}, nil},
		"Namespace": {engine.ActFilter{Namespace: "video"}, []task.Act{all[3], all[5]}},
		"Template":  {engine.ActFilter{Namespace: "video", Template: "cut"}, all[5:6]},
		"After":     {engine.ActFilter{After: second(2)}, all[2:]},
		"Before":    {engine.ActFilter{Before: second(1)}, all[:1]},
		"Below":     {engine.ActFilter{Below: numbered[2].No}, all[:2]},
		"Several":   {engine.ActFilter{Task: b.task.ID, Actor: "bob", After: second(1)}, all[2:3]},
		"Hostile":   {engine.ActFilter{Actor: "' OR 1=1 --"}, nil},
	} {
		test.filter.Limit = 10
		f.equal(name, unnumbered(f, list(test.filter)), test.want)
	}
	f.equal("a page", unnumbered(f, list(engine.ActFilter{Limit: 2})), all[5:])
}

// failedTasks: filters of the list of failed tasks.
func failedTasks(f *fixture) {
	var cases []*task.Case
	for i, j := range f.many(6) {
		c := task.NewCase(f.store.IDs().Take(f.now.Time(), 1), j.task, task.StepsInProcess, task.ReasonMaxRetries,
			f.now.Add(time.Duration(i)*time.Minute))
		c.Fingerprint, c.Retryable, c.Snapshot = []string{"DOWN", "", "it's broken"}[i%3], i%2 == 0, []byte(`{}`)
		if i < 4 {
			f.move(j, func(s *task.Step) error { return s.Exhaust(f.now) })
		}
		j.task.Meta.Case = task.HasPending
		f.write(func(ctx context.Context, tx engine.Tx) error {
			if err := f.store.CaseStore().AddCases(ctx, tx, []*task.Case{c}); err != nil {
				return err
			}
			return tx.SaveTasks(ctx, []*task.Task{j.task})
		})
		cases = append(cases, c)
	}
	slices.Reverse(cases)
	yes, no := true, false
	for name, test := range map[string]struct {
		filter engine.CaseFilter
		want   []task.ID
	}{
		"All":       {engine.CaseFilter{}, caseIDs(cases)},
		"InError":   {engine.CaseFilter{InError: true}, caseIDs(cases[2:])},
		"Error":     {engine.CaseFilter{Fingerprint: "it's broken"}, caseIDs([]*task.Case{cases[0], cases[3]})},
		"Retryable": {engine.CaseFilter{Retryable: &yes}, caseIDs([]*task.Case{cases[1], cases[3], cases[5]})},
		"Final":     {engine.CaseFilter{Retryable: &no, InError: true}, caseIDs([]*task.Case{cases[2], cases[4]})},
		"Below":     {engine.CaseFilter{Below: cases[2].ID, InError: true}, caseIDs(cases[3:])},
		"Together": {engine.CaseFilter{Status: task.CasePending, Reason: task.ReasonMaxRetries, InError: true,
			Fingerprint: "DOWN", Retryable: &yes, TaskName: "a",
			Below: cases[0].ID}, caseIDs(cases[5:])},
	} {
		test.filter.Limit = 10
		f.equal(name, f.listCases(test.filter), test.want)
		n, err := f.store.CaseStore().SizeOf(f.Context(), test.filter, 5)
		f.must(err)
		f.equal("number of "+name, n, min(len(test.want), 5))
	}
	list, err := f.store.CaseStore().ListCases(f.Context(), engine.CaseFilter{Limit: 10})
	f.must(err)
	for i, c := range list {
		f.equal("error", []any{c.Fingerprint, c.Retryable}, []any{cases[i].Fingerprint, cases[i].Retryable})
	}
	whole, err := f.store.CaseStore().FindCase(f.Context(), cases[0].ID)
	f.must(err)
	f.equal("the whole case", whole, cases[0])
	// Fields fixed at the opening stay.
	f.change(job{task: f.find(cases[0].TaskID)}, cases[0], task.CaseChange{Status: task.CaseFailed, Actor: "ada"}, f.now)
	whole, err = f.store.CaseStore().FindCase(f.Context(), cases[0].ID)
	f.must(err)
	f.equal("the resolved case", whole, cases[0])
}

func lastFailures(f *fixture) {
	j, silent := f.build(f.diamond, 0), f.build(f.single, 0)
	f.insert(j, silent)
	attempt := func(step int, token int64, message string) task.Attempt {
		return task.Attempt{StepID: j.steps[step].ID, TaskID: j.task.ID, Token: token, Outcome: task.Failed,
			FinishedAt: f.now, After: task.StepEnqueued,
			Failure: &task.Failure{Message: message}}
	}
	last, other := attempt(0, 2, "the second"), attempt(1, 1, "beside it")
	f.addAttempts(attempt(0, 1, "the first"), last, other)
	for name, test := range map[string]struct {
		step int
		want task.Attempt
	}{
		"of the step":             {1, last},
		"of another step":         {2, other},
		"of any":                  {0, other},
		"of a step without a one": {3, other},
	} {
		got, err := f.store.CaseStore().LastFailures(f.Context(),
			[]engine.Stop{{Task: silent.task.ID, Step: 1}, {Task: j.task.ID, Step: test.step},
				{Task: f.store.IDs().Take(f.now.Time(), 1)}})
		f.must(err)
		f.equal("the last failure "+name, got, []task.Attempt{test.want})
	}
}

func countFailures(f *fixture) {
	minute := func(n int) task.Instant { return f.now.Add(time.Duration(n) * time.Minute) }
	for i, j := range f.many(7) {
		c := task.NewCase(f.store.IDs().Take(f.now.Time(), 1), j.task, task.StepsInProcess, task.ReasonMaxRetries, minute(i))
		c.Fingerprint, c.Retryable, c.Snapshot = []string{"DOWN", "it's broken", "DOWN"}[i%3], i != 3, []byte(`{}`)
		if i == 6 {
			c.Reason, c.Fingerprint = task.ReasonStaleness, ""
		}
		if i != 5 { // that one has recovered
			f.move(j, func(s *task.Step) error { return s.Exhaust(f.now) })
		}
		j.task.Meta.Case = task.HasPending
		f.write(func(ctx context.Context, tx engine.Tx) error {
			if err := f.store.CaseStore().AddCases(ctx, tx, []*task.Case{c}); err != nil {
				return err
			}
			return tx.SaveTasks(ctx, []*task.Task{j.task})
		})
		if i == 4 {
			f.change(j, c, task.CaseChange{Status: task.CaseFailed, Actor: "ada"}, minute(10))
		}
	}
	count := func(since task.Instant, byFingerprint bool, limit int) []engine.FailureCount {
		got, err := f.store.CaseStore().CountFailures(f.Context(), since, byFingerprint, limit)
		f.must(err)
		return got
	}
	exhausted, stale := task.ReasonMaxRetries, task.ReasonStaleness
	byFingerprint := []engine.FailureCount{
		{Namespace: "default", Reason: exhausted, Fingerprint: "DOWN", Cases: 4, Replayable: 2, First: minute(0),
			Last: minute(5)},
		{Namespace: "default", Reason: exhausted, Fingerprint: "it's broken", Cases: 2, Replayable: 1, First: minute(1),
			Last: minute(4)},
		{Namespace: "default", Reason: stale, Cases: 1, Replayable: 1, First: minute(6), Last: minute(6)},
	}
	f.equal("by fingerprint", count(minute(0), true, 10), byFingerprint)
	f.equal("the most frequent", count(minute(0), true, 1), byFingerprint[:1])
	f.equal("by reason", count(minute(0), false, 10), []engine.FailureCount{
		{Namespace: "default", Reason: exhausted, Cases: 6, Replayable: 3, First: minute(0), Last: minute(5)},
		byFingerprint[2]})
	f.equal("of late", count(minute(6), true, 10), byFingerprint[2:])
	f.equal("of nothing", count(minute(7), true, 10), []engine.FailureCount(nil))
}
