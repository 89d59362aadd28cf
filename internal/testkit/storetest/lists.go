package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func listCases() []testCase {
	return []testCase{
		{"NewestFirst", listNewestFirst},
		{"Filters", listFilters},
		{"Below", listBelow},
		{"PagesWhileInserting", listPagesWhileInserting},
		{"SparseFilter", listSparse},
		{"ShortPages", listShortPages},
		{"Contexts", listContexts},
		{"BareSteps", listBareSteps},
		{"Results", listResults},
	}
}

func (f *fixture) list(filter engine.TaskFilter) []task.ID {
	f.Helper()
	var all []task.ID
	for page := 0; ; page++ {
		tasks, next, err := f.store.ListTasks(f.Context(), filter)
		f.must(err)
		if len(tasks) > filter.Limit {
			f.Fatalf("a page of %d tasks with the limit %d", len(tasks), filter.Limit)
		}
		for _, t := range tasks {
			all = append(all, t.ID)
		}
		if next.IsZero() {
			return all
		}
		if page > 10_000 {
			f.Fatal("the list does not end")
		}
		filter.Below = next
	}
}

func newest(jobs ...job) []task.ID {
	var ids []task.ID
	for _, j := range slices.Backward(jobs) {
		ids = append(ids, j.task.ID)
	}
	return ids
}

func listNewestFirst(f *fixture) {
	f.equal("empty", f.list(engine.TaskFilter{Limit: 10}), []task.ID(nil))
	first := f.many(3)
	second := full(f)
	f.insert(second)
	f.equal("all", f.list(engine.TaskFilter{Limit: 10}), newest(append(first, second)...))
	tasks, next, err := f.store.ListTasks(f.Context(), engine.TaskFilter{Limit: 4})
	f.must(err)
	f.equal("tasks", len(tasks), 4)
	tasks[0].Context = second.task.Context // may be left out of a list
	f.equal("newest", tasks[0], second.task)
	f.equal("oldest", tasks[3], first[0].task)
	if !next.IsZero() {
		more, _, err := f.store.ListTasks(f.Context(), engine.TaskFilter{Limit: 4, Below: next})
		f.must(err)
		f.equal("after the end", len(more), 0)
	}
}

func listFilters(f *fixture) {
	other := diamond("other", "diamond", "2")
	f.register(other)
	plain, diamond1, diamond2 := f.build(f.single, 0), f.build(f.diamond, time.Minute), f.build(other, 2*time.Minute)
	diamond1.task.Meta.Tags, diamond1.task.CorrelationID = []string{"red", "blue"}, "c1"
	diamond2.task.Meta.Tags, diamond2.task.CorrelationID, diamond2.task.Priority = []string{"blue"}, "c1", 0
	diamond1.task.Meta.Initiator, diamond2.task.Meta.Initiator = "ann", "ann"
	plain.task.Meta.Initiator = "Ann"
	f.insert(plain, diamond1, diamond2)
	f.finish(plain, f.now)
	level, none, unused := 50, 0, 77
	for _, c := range []struct {
		name   string
		filter engine.TaskFilter
		want   []task.ID
	}{
		{"State", engine.TaskFilter{States: []task.State{task.Complete}}, newest(plain)},
		{"States", engine.TaskFilter{States: []task.State{task.Complete, task.StepsInProcess}},
			newest(plain, diamond1, diamond2)},
		{"StateOfNone", engine.TaskFilter{States: []task.State{task.Errored, task.Pending}}, nil},
		{"Namespace", engine.TaskFilter{Namespace: "default"}, newest(plain, diamond1)},
		{"UnknownNamespace", engine.TaskFilter{Namespace: "nope"}, nil},
		{"Name", engine.TaskFilter{Name: "diamond"}, newest(diamond1, diamond2)},
		{"NameOfHandler", engine.TaskFilter{Name: "a"}, newest(plain)},
		{"Version", engine.TaskFilter{Version: "2"}, newest(diamond2)},
		{"NamespaceNameVersion", engine.TaskFilter{Namespace: "default", Name: "diamond", Version: "1"}, newest(diamond1)},
		{"NameOfOtherNamespace", engine.TaskFilter{Namespace: "other", Name: "a"}, nil},
		{"Tag", engine.TaskFilter{Tag: "blue"}, newest(diamond1, diamond2)},
		{"FirstTag", engine.TaskFilter{Tag: "red"}, newest(diamond1)},
		{"PartOfTag", engine.TaskFilter{Tag: "re"}, nil},
		{"TagsJoined", engine.TaskFilter{Tag: `red","blue`}, nil},
		{"CorrelationID", engine.TaskFilter{CorrelationID: "c1"}, newest(diamond1, diamond2)},
		{"Initiator", engine.TaskFilter{Initiator: "ann"}, newest(diamond1, diamond2)},
		{"InitiatorOfOtherCase", engine.TaskFilter{Initiator: "Ann"}, newest(plain)},
		{"InitiatorOfNone", engine.TaskFilter{Initiator: "bob"}, nil},
		{"InitiatorAndState", engine.TaskFilter{Initiator: "ann", States: []task.State{task.Complete}}, nil},
		{"InitiatorAndName", engine.TaskFilter{Initiator: "ann", Namespace: "other", Name: "diamond"}, newest(diamond2)},
		{"InitiatorAndTag", engine.TaskFilter{Initiator: "ann", Tag: "red"}, newest(diamond1)},
		{"OtherInitiatorAndTag", engine.TaskFilter{Initiator: "Ann", Tag: "red"}, nil},
		{"InitiatorAndCorrelationID", engine.TaskFilter{Initiator: "ann", CorrelationID: "c1",
			CreatedAfter: f.now.Add(2 * time.Minute)}, newest(diamond2)},
		{"Priority", engine.TaskFilter{Priority: &level}, newest(plain, diamond1)},
		{"PriorityZero", engine.TaskFilter{Priority: &none}, newest(diamond2)},
		{"PriorityOfNone", engine.TaskFilter{Priority: &unused}, nil},
		{"CreatedAfter", engine.TaskFilter{CreatedAfter: f.now.Add(time.Minute)}, newest(diamond1, diamond2)},
		{"CreatedAfterIsInclusive", engine.TaskFilter{CreatedAfter: f.now.Add(time.Minute) + 1}, newest(diamond2)},
		{"CreatedBefore", engine.TaskFilter{CreatedBefore: f.now.Add(time.Minute)}, newest(plain)},
		{"CreatedBeforeIsExclusive", engine.TaskFilter{CreatedBefore: f.now.Add(time.Minute) + 1}, newest(plain, diamond1)},
		{"CreatedBetween", engine.TaskFilter{CreatedAfter: f.now + 1, CreatedBefore: f.now.Add(2 * time.Minute)},
			newest(diamond1)},
		{"Everything", engine.TaskFilter{States: []task.State{task.StepsInProcess}, Namespace: "default", Name: "diamond",
			Version: "1", Tag: "blue",
			CorrelationID: "c1", Priority: &level, CreatedAfter: f.now, CreatedBefore: f.now.Add(time.Hour)}, newest(diamond1)},
		{"EverythingButOne", engine.TaskFilter{States: []task.State{task.StepsInProcess}, Namespace: "default",
			Name: "diamond", Version: "1", Tag: "blue",
			CorrelationID: "c1", Priority: &none, CreatedAfter: f.now, CreatedBefore: f.now.Add(time.Hour)}, nil},
	} {
		for _, limit := range []int{1, 100} {
			c.filter.Limit = limit
			f.equal(fmt.Sprintf("%s with limit %d", c.name, limit), f.list(c.filter), c.want)
		}
	}
}

func listBelow(f *fixture) {
	jobs := f.many(5)
	f.equal("below the third", f.list(engine.TaskFilter{Below: jobs[2].task.ID, Limit: 10}), newest(jobs[:2]...))
	f.equal("below the oldest", f.list(engine.TaskFilter{Below: jobs[0].task.ID, Limit: 10}), []task.ID(nil))
	above := f.store.IDs().Take(f.now.Add(time.Hour).Time(), 1)
	f.equal("below one that does not exist", f.list(engine.TaskFilter{Below: above, Limit: 10}), newest(jobs...))
}

// A reader that pages through a list gets every initial task exactly once, despite inserts.
func listPagesWhileInserting(f *fixture) {
	jobs := f.many(1000)
	var got []task.ID
	filter := engine.TaskFilter{Limit: 37}
	for {
		tasks, next, err := f.store.ListTasks(f.Context(), filter)
		f.must(err)
		for _, t := range tasks {
			got = append(got, t.ID)
		}
		if next.IsZero() {
			break
		}
		filter.Below = next
		f.insert(f.build(f.single, time.Hour))
	}
	f.equal("tasks", got, newest(jobs...))
}

// A filter that matches few of many tasks finds them, page by page.
func listSparse(f *fixture) {
	jobs := make([]job, 3000)
	for i := range jobs {
		jobs[i] = f.build(f.single, time.Duration(i)*time.Millisecond)
		if i%1000 == 1 {
			jobs[i].task.Meta.Tags, jobs[i].task.Meta.Initiator = []string{"rare"}, "rare"
		}
	}
	f.insert(jobs...)
	want := newest(jobs[1], jobs[1001], jobs[2001])
	f.equal("one a page", f.list(engine.TaskFilter{Tag: "rare", Limit: 1}), want)
	f.equal("all at once", f.list(engine.TaskFilter{Tag: "rare", Limit: 1000}), want)
	f.equal("one a page by initiator", f.list(engine.TaskFilter{Initiator: "rare", Limit: 1}), want)
	f.equal("by initiator and state",
		f.list(engine.TaskFilter{Initiator: "rare", States: []task.State{task.StepsInProcess}, Limit: 2}), want)
	f.equal("large pages", f.list(engine.TaskFilter{Limit: 700}), newest(jobs...))
	f.equal("combined", f.list(engine.TaskFilter{Tag: "rare", Limit: 10, CreatedBefore: jobs[1001].task.CreatedAt}),
		newest(jobs[1]))
}

// A page may be short, because a store examines a bounded number of rows; all pages together have every match, once and
// in order. Here the matches are spread over states, each of which may have an index.
func listShortPages(f *fixture) {
	if testing.Short() {
		f.Skip("stores 25,000 tasks")
	}
	const n = 25_000
	rare := 7
	jobs := make([]job, n)
	var want, done []job
	for i := range jobs {
		jobs[i] = f.build(f.single, time.Duration(i)*time.Millisecond)
		if i%5000 == 100 || i < 3 {
			jobs[i].task.Priority = rare
			want = append(want, jobs[i])
			if len(want)%2 == 0 {
				done = append(done, jobs[i])
			}
		}
	}
	for batch := range slices.Chunk(jobs, 1000) {
		f.insert(batch...)
	}
	for _, j := range done {
		f.finish(j, f.now.Add(time.Hour))
	}
	for _, filter := range []engine.TaskFilter{
		{Priority: &rare},
		{Priority: &rare, Name: "a"},
		{Priority: &rare, States: []task.State{task.StepsInProcess, task.Complete}},
	} {
		for _, limit := range []int{1, 3, 1000} {
			filter.Limit = limit
			f.equal(fmt.Sprintf("%+v", filter), f.list(filter), newest(want...))
		}
	}
	f.equal("of one state", f.list(engine.TaskFilter{Priority: &rare, States: []task.State{task.Complete}, Limit: 2}),
		newest(done...))
}
