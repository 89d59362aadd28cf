package storetest

import (
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// caseFailures: filters by the failed step, its handler, and a part of its message, alone and combined.
func caseFailures(f *fixture) {
	var cases []*task.Case // newest last
	for i, c := range []struct {
		def           *task.Template
		step, message string
	}{
		{f.diamond, "start", "no space left: 100% of /var_1 used"},
		{f.diamond, "left", "no connection to db'1"},
		{f.diamond, "end", "No Connection to ÄÖ"},
		{f.single, "a", "no connection to db'2"},
		{f.single, "", ""},
	} {
		j := f.build(c.def, 0)
		f.insert(j)
		stuck := task.NewCase(f.store.IDs().Take(f.now.Time(), 1), j.task, j.task.State, task.ReasonMaxRetries,
			f.now.Add(time.Duration(i)*time.Minute))
		stuck.Snapshot, stuck.Step, stuck.Message = []byte(`{}`), c.step, c.message
		f.addCase(j, stuck)
		cases = append(cases, stuck)
	}
	for name, c := range map[string]struct {
		filter engine.CaseFilter
		want   []int // newest first
	}{
		"Step":        {engine.CaseFilter{Step: "left"}, []int{1}},
		"NoSuchStep":  {engine.CaseFilter{Step: "a "}, nil},
		"Handler":     {engine.CaseFilter{Handler: "a"}, []int{3, 2, 0}}, // of start and end, and of the single one
		"HandlerName": {engine.CaseFilter{Handler: "a", TaskName: "diamond"}, []int{2, 0}},
		"NoHandler":   {engine.CaseFilter{Handler: "start"}, nil},
		"Message":     {engine.CaseFilter{Message: "no connection"}, []int{3, 1}},
		"Letters":     {engine.CaseFilter{Message: "ÄÖ"}, []int{2}},
		"Quote":       {engine.CaseFilter{Message: "db'2"}, []int{3}},
		"Percent":     {engine.CaseFilter{Message: "100% of /var_1"}, []int{0}},
		"Wildcards":   {engine.CaseFilter{Message: "1%_"}, nil},
		"All":         {engine.CaseFilter{Step: "left", Handler: "b", Message: "db", Status: task.CasePending}, []int{1}},
		"Apart":       {engine.CaseFilter{Step: "left", Handler: "a"}, nil},
		"Named":       {engine.CaseFilter{Message: "no", IDs: []task.ID{cases[0].ID, cases[2].ID}}, []int{0}},
		"Closed":      {engine.CaseFilter{Step: "left", Status: task.CaseResolved}, nil},
	} {
		c.filter.Limit = 10
		var want, urgent []task.ID
		for _, i := range c.want {
			want = append(want, cases[i].ID)
			urgent = append([]task.ID{cases[i].ID}, urgent...)
		}
		f.equal(name, f.listCases(c.filter), want)
		n, err := f.store.CaseStore().SizeOf(f.Context(), c.filter, 10)
		f.must(err)
		f.equal("number of "+name, n, len(want))
		if c.filter.Status == task.CaseResolved || len(c.filter.IDs) > 0 {
			continue // the queue has those that are pending
		}
		got, err := f.store.CaseStore().UrgentCases(f.Context(), c.filter, settings.PriorityBases{})
		f.must(err)
		f.equal(name+" by urgency", caseIDs(got), urgent)
	}
	page := engine.CaseFilter{Handler: "a", Limit: 1, Offset: 1}
	f.equal("the second page", f.listCases(page), []task.ID{cases[2].ID})
	got, err := f.store.CaseStore().UrgentCases(f.Context(), page, settings.PriorityBases{})
	f.must(err)
	f.equal("the second page by urgency", caseIDs(got), []task.ID{cases[2].ID})
}

// caseFilterByState: filters by the present states of tasks, and by their IDs.
func caseFilterByState(f *fixture) {
	failed, live := f.build(f.single, 0), f.build(f.single, 0)
	f.insert(failed, live)
	first, second := f.openCase(failed, task.ReasonManual, f.now), f.openCase(live, task.ReasonManual, f.now)
	f.move(failed, func(s *task.Step) error { return s.Exhaust(f.now) })
	f.equal("in error", f.listCases(engine.CaseFilter{State: task.Errored, Limit: 10}), []task.ID{first.ID})
	f.equal("running", f.listCases(engine.CaseFilter{State: task.StepsInProcess, Limit: 10}), []task.ID{second.ID})
	forged := task.MakeID(first.ID.Seq(), first.ID.Low()^1)
	f.equal("by name", f.listCases(engine.CaseFilter{IDs: []task.ID{first.ID, failed.task.ID, first.ID}, Limit: 10}),
		[]task.ID{first.ID})
	f.equal("by a name that only looks like one", f.listCases(engine.CaseFilter{IDs: []task.ID{forged}, Limit: 10}),
		[]task.ID(nil))
}
