package storetest

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// listContexts: contexts come on request, and end a page early.
func listContexts(f *fixture) {
	jobs := f.many(40)
	context := append(append([]byte{'"'}, bytes.Repeat([]byte{'x'}, 998)...), '"')
	fresh := make([]job, len(jobs))
	for i := range jobs {
		fresh[i] = f.build(f.single, 0)
		fresh[i].task.Context = context
		f.insert(fresh[i])
	}
	tasks, next, err := f.store.ListTasks(f.Context(), engine.TaskFilter{Limit: 40})
	f.must(err)
	for _, t := range tasks {
		if t.Context != nil {
			f.Fatalf("a list that does not ask for contexts has one of %d bytes", len(t.Context))
		}
	}
	f.equal("tasks without contexts", len(tasks), 40)
	f.equal("the next page", next, tasks[39].ID)

	asked := engine.TaskFilter{Limit: 40, Contexts: true, Bytes: 20_500}
	tasks, next, err = f.store.ListTasks(f.Context(), asked)
	f.must(err)
	f.equal("tasks of 1,000 bytes on a page of 20,500", len(tasks), 20)
	f.equal("the context", string(tasks[19].Context), string(context))
	f.equal("the next page", next, tasks[19].ID)
	f.equal("all, page by page", f.list(asked), newest(append(jobs, fresh...)...))

	asked.Bytes = 10 // less than one
	tasks, next, err = f.store.ListTasks(f.Context(), asked)
	f.must(err)
	f.equal("tasks on a page that none fits", len(tasks), 1)
	f.equal("the next page", next, tasks[0].ID)
	f.equal("all, one by one", f.list(asked), newest(append(jobs, fresh...)...))
}

func (f *fixture) finished() job {
	j := f.build(f.diamond, 0)
	f.insert(j)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		steps, err := tx.Steps(ctx, []engine.Family{{Task: j.task.ID}})
		if err != nil {
			return err
		}
		for i, s := range steps[0] {
			s.Result = append(append([]byte{'"'}, bytes.Repeat([]byte{'x'}, 98)...), '"')
			s.Note = "step"
			j.steps[i] = s
		}
		return tx.SaveSteps(ctx, steps[0])
	})
	return j
}

func listBareSteps(f *fixture) {
	f.equal("of none", f.bareSteps(), []task.ID(nil))
	one, two, gone := f.finished(), f.finished(), f.build(f.single, 0)
	var want []task.ID
	for _, j := range []job{one, two} {
		for _, s := range j.steps {
			want = append(want, s.ID)
		}
	}
	slices.SortFunc(want, compareTaskIDs)
	f.equal("steps", f.bareSteps(one, two, gone), want)
}

func (f *fixture) bareSteps(jobs ...job) []task.ID {
	f.Helper()
	var of []engine.Sized
	for _, j := range jobs {
		of = append(of, engine.Sized{Task: j.task.ID, Steps: len(j.steps)})
	}
	steps, err := f.store.BareSteps(f.Context(), of)
	f.must(err)
	var ids []task.ID
	for _, s := range steps {
		if s.Result != nil || s.Note != "step" {
			f.Errorf("a bare step has the result %s and the note %q", s.Result, s.Note)
		}
		ids = append(ids, s.ID)
	}
	slices.SortFunc(ids, compareTaskIDs)
	return ids
}

func compareTaskIDs(a, b task.ID) int { return bytes.Compare(a[:], b[:]) }

func listResults(f *fixture) {
	j := f.finished()
	var ids []task.ID
	for _, s := range j.steps {
		ids = append(ids, s.ID)
	}
	for bytes, want := range map[int]int{1000: 4, 400: 4, 399: 3, 99: 0} {
		got, err := f.store.Results(f.Context(), ids, bytes)
		f.must(err)
		f.equal("results within the bytes", len(got), want)
		for i, id := range ids[:want] {
			f.equal("a result", string(got[id]), string(j.steps[i].Result))
		}
	}
}

func documents(sizes ...int) [][]byte {
	var out [][]byte
	for _, n := range sizes {
		out = append(out, []byte(`{"a":"`+strings.Repeat("x", n-len(`{"a":""}`))+`"}`))
	}
	return out
}

// pagesOfDocuments are bounds for a page with these documents, and which are left out.
var (
	pageOfDocuments  = documents(100, 5000, engine.SmallDocument, 6000, 5000) // newest first
	pagesOfDocuments = map[int][]bool{
		0:      {false, false, false, false, false},
		20_000: {false, false, false, false, false},
		13_200: {false, false, false, false, true},
		13_100: {false, false, false, true, true},
		1:      {false, true, false, true, true},
		-1:     {false, true, false, true, true},
	}
)

// caseBytes: metadata beyond the page's bytes is omitted and marked; small metadata never is, and that of a page of one
// case only without a request.
func caseBytes(f *fixture) {
	for _, metadata := range slices.Backward(pageOfDocuments) {
		c := f.openCase(f.one(), task.ReasonManual, f.now)
		f.change(job{task: f.find(c.TaskID)}, c, task.CaseChange{Metadata: metadata, Actor: "ada"}, f.now)
	}
	for bytes, omitted := range pagesOfDocuments {
		cases, err := f.store.CaseStore().ListCases(f.Context(), engine.CaseFilter{Limit: 10, Bytes: bytes})
		f.must(err)
		for i, c := range cases {
			f.equal("left out", c.MetadataOmitted, omitted[i])
			f.equal("metadata", c.Metadata == nil, omitted[i])
			if !omitted[i] {
				f.equal("metadata", string(c.Metadata), string(pageOfDocuments[i]))
			}
		}
		urgent, err := f.store.CaseStore().UrgentCases(f.Context(), engine.CaseFilter{Limit: 10, Bytes: bytes},
			settings.PriorityBases{})
		f.must(err)
		f.equal("the last of the queue", urgent[0].MetadataOmitted, bytes == 1 || bytes == -1)
	}
	one, err := f.store.CaseStore().ListCases(f.Context(), engine.CaseFilter{Limit: 1, Offset: 3, Bytes: 1})
	f.must(err)
	f.equal("the metadata of one", string(one[0].Metadata), string(pageOfDocuments[3]))
}

// actBytes is caseBytes for the data of acts.
func actBytes(f *fixture) {
	j := f.one()
	for _, data := range slices.Backward(pageOfDocuments) {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			return f.store.ActStore().AddActs(ctx, tx,
				[]task.Act{{At: f.now, TaskID: j.task.ID, Kind: "complete_manually", Actor: "ada", Data: data}})
		})
	}
	for bytes, omitted := range pagesOfDocuments {
		acts, err := f.store.ActStore().ListActs(f.Context(), engine.ActFilter{Limit: 10, Bytes: bytes})
		f.must(err)
		for i, a := range acts {
			f.equal("left out", a.DataOmitted, omitted[i])
			f.equal("data", a.Data == nil, omitted[i])
			if !omitted[i] {
				f.equal("data", string(a.Data), string(pageOfDocuments[i]))
			}
		}
	}
	acts, err := f.store.ActStore().ListActs(f.Context(), engine.ActFilter{Limit: 5})
	f.must(err)
	one, err := f.store.ActStore().ListActs(f.Context(), engine.ActFilter{Limit: 1, Below: acts[3].No + 1, Bytes: 1})
	f.must(err)
	f.equal("the data of one", string(one[0].Data), string(acts[3].Data))
}
