package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func childCases() []testCase {
	return []testCase{
		{"FanOut", childrenFanOut},
		{"Marks", childrenMarks},
		{"Lists", childrenLists},
		{"Items", childrenItems},
		{"GoWithTheirParent", childrenGo},
	}
}

// fanOut stores a task whose step has a fan-out with running children.
func (f *fixture) fanOut(children int) (*task.Step, []engine.Child) {
	f.Helper()
	j := f.build(f.single, 0)
	j.task.Meta.HasChildren = true
	s := f.store.ChildStore()
	list := make([]engine.Child, children)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := insert(ctx, tx, j); err != nil {
			return err
		}
		for i := range list {
			k := f.build(f.single, 0)
			k.task.Meta.Child = &task.ChildOf{Task: j.task.ID, Step: j.steps[0].ID, Index: i, Depth: 1}
			if err := insert(ctx, tx, k); err != nil {
				return err
			}
			list[i] = engine.Child{Step: j.steps[0].ID, Index: i, Task: k.task.ID, State: task.ChildRunning,
				Counted: task.ChildRunning}
		}
		if err := s.WakeFanOuts(ctx, tx, j.steps[:1]); err != nil {
			return err
		}
		return s.SaveChildren(ctx, tx, list)
	})
	return j.steps[0], list
}

// A fan-out begins fresh and without a list; waking an existing one changes nothing else.
func childrenFanOut(f *fixture) {
	s := f.store.ChildStore()
	step, _ := f.fanOut(0)
	want := task.FanOut{Step: step.ID, Task: step.TaskID, Total: task.Unlisted, Fresh: true}
	check := func() {
		f.Helper()
		got, err := s.FanOuts(f.Context(), []task.ID{step.ID})
		if err != nil || len(got) != 1 || *got[0] != want {
			f.Fatalf("fan-outs %+v, error %v; want %+v", got, err, want)
		}
		due, err := s.DueFanOuts(f.Context(), 9)
		if err != nil || len(due) == 1 != want.Fresh {
			f.Fatalf("%d are due, error %v", len(due), err)
		}
	}
	check()
	want = task.FanOut{Step: step.ID, Task: step.TaskID, Rev: 1, Total: 9, Submitted: 8, Running: 7, Done: 6, Errored: 5,
		GivenUp: 4, Phase: task.FanFailed, Repeated: 3, Bytes: 2, Version: "v"}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := s.FanOutsIn(ctx, tx, []task.ID{step.ID})
		if err != nil || len(got) != 1 {
			f.Errorf("%d fan-outs, error %v", len(got), err)
		}
		return s.SaveFanOuts(ctx, tx, []*task.FanOut{&want})
	})
	check()
	f.write(func(ctx context.Context, tx engine.Tx) error { return s.WakeFanOuts(ctx, tx, []*task.Step{step}) })
	want.Fresh, want.Rev = true, 2 // the previous plan is void
	check()
}

// A mark makes a child fresh with its state and result, and its step due, until it is counted.
func childrenMarks(f *fixture) {
	s := f.store.ChildStore()
	step, list := f.fanOut(3)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return s.SaveFanOuts(ctx, tx, []*task.FanOut{{Step: step.ID, Task: step.TaskID, Total: 3, Submitted: 3, Running: 3}})
	})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return s.MarkChildren(ctx, tx, []engine.ChildMark{{Task: list[2].Task, State: task.ChildDone, Result: []byte(`7`)},
			{Task: step.TaskID, State: task.ChildDone}})
	})
	want := list[2]
	want.State, want.Fresh, want.Size = task.ChildDone, true, 1
	fresh, err := s.FreshChildren(f.Context(), step.ID, 9)
	if err != nil || len(fresh) != 1 || !sameChild(fresh[0], want) {
		f.Fatalf("fresh %+v, error %v; want %+v", fresh, err, want)
	}
	if due, err := s.DueFanOuts(f.Context(), 9); err != nil || len(due) != 1 {
		f.Fatalf("%d are due, error %v", len(due), err)
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		locked, err := s.LockFresh(ctx, tx, step.ID, 9)
		if err != nil || len(locked) != 1 || !sameChild(locked[0], want) {
			f.Errorf("locked %+v, error %v", locked, err)
			return err
		}
		locked[0].Fresh, locked[0].Counted = false, task.ChildDone
		return s.SaveChildren(ctx, tx, locked)
	})
	all, err := s.ListChildren(f.Context(), step.ID, engine.ChildFilter{From: 2, Limit: 9, Results: true})
	want.Fresh, want.Counted, want.Result = false, task.ChildDone, []byte(`7`)
	if err != nil || len(all) != 1 || !sameChild(all[0], want) {
		f.Errorf("got %+v, error %v; want %+v", all, err, want)
	}
	if due, err := s.DueFanOuts(f.Context(), 9); err != nil || len(due) != 0 {
		f.Errorf("%d are due, error %v", len(due), err)
	}
}

func sameChild(a, b engine.Child) bool {
	return a.Step == b.Step && a.Index == b.Index && a.Task == b.Task && a.State == b.State && a.Counted == b.Counted &&
		a.Fresh == b.Fresh && string(a.Result) == string(b.Result) && a.Size == b.Size && a.Note == b.Note
}

// Lists are by index, from an index, of all or some states.
func childrenLists(f *fixture) {
	s := f.store.ChildStore()
	step, list := f.fanOut(5)
	list[1].State, list[3].State = task.ChildErrored, task.ChildGivenUp
	refused := engine.Child{Step: step.ID, Index: 5, State: task.ChildGivenUp, Counted: task.ChildGivenUp,
		Note: "no such thing"}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return s.SaveChildren(ctx, tx, append(slices.Clone(list), refused))
	})
	for _, c := range []struct {
		filter engine.ChildFilter
		want   []int
	}{
		{engine.ChildFilter{Limit: 9}, []int{0, 1, 2, 3, 4, 5}},
		{engine.ChildFilter{Limit: 2, From: 3}, []int{3, 4}},
		{engine.ChildFilter{Limit: 9, States: []task.ChildState{task.ChildErrored, task.ChildGivenUp}}, []int{1, 3, 5}},
		{engine.ChildFilter{Limit: 9, States: []task.ChildState{task.ChildDone}}, nil},
	} {
		got, err := s.ListChildren(f.Context(), step.ID, c.filter)
		var at []int
		for _, child := range got {
			at = append(at, child.Index)
		}
		if err != nil || !slices.Equal(at, c.want) {
			f.Errorf("%+v: children %v, error %v; want %v", c.filter, at, err, c.want)
		}
		if n := len(got); n > 0 && got[n-1].Index == 5 && !sameChild(got[n-1], refused) {
			f.Errorf("got %+v; want %+v", got[n-1], refused)
		}
	}
}

// Windows of items are stored once.
func childrenItems(f *fixture) {
	s := f.store.ChildStore()
	step, _ := f.fanOut(0)
	for _, windows := range [][][]byte{{[]byte(`[1,2]`), []byte(`[3]`)}} {
		f.write(func(ctx context.Context, tx engine.Tx) error { return s.AddItems(ctx, tx, step.ID, windows) })
	}
	for at, want := range []string{`[1,2]`, `[3]`, ""} {
		if got, err := s.ItemWindow(f.Context(), step.ID, at); err != nil || string(got) != want {
			f.Errorf("window %d: %s, error %v; want %s", at, got, err, want)
		}
	}
}

// Retention deletes children once their parent has ended, and their rows with the parent.
func childrenGo(f *fixture) {
	s := f.store.ChildStore()
	step, list := f.fanOut(2)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return s.AddItems(ctx, tx, step.ID, [][]byte{[]byte(`[]`)})
	})
	f.cancelSingle(list[0].Task)
	f.equal("deleted while the parent lives", deleteFinished(f, f.now.Add(time.Hour), 9), 0)
	f.cancelSingle(step.TaskID)
	n := deleteFinished(f, f.now.Add(time.Hour), 9)
	f.equal("deleted with the parent", n+deleteFinished(f, f.now.Add(time.Hour), 9), 2)
	f.equal("the child that has ended", f.find(list[0].Task), (*task.Task)(nil))
	if f.find(list[1].Task) == nil {
		f.Error("a child that has not ended is deleted")
	}
	fans, err := s.FanOuts(f.Context(), []task.ID{step.ID})
	if err != nil || len(fans) != 0 {
		f.Errorf("%d fan-outs are left, error %v", len(fans), err)
	}
	left, err := s.ListChildren(f.Context(), step.ID, engine.ChildFilter{Limit: 9})
	if err != nil || len(left) != 0 {
		f.Errorf("%d children are left, error %v", len(left), err)
	}
	if got, err := s.ItemWindow(f.Context(), step.ID, 0); err != nil || got != nil {
		f.Errorf("items %s are left, error %v", got, err)
	}
}

func (f *fixture) cancelSingle(id task.ID) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		t, err := tx.Task(ctx, id)
		if err != nil {
			return err
		}
		steps, err := tx.Steps(ctx, []engine.Family{{Task: t.ID}})
		if err != nil {
			return err
		}
		from := steps[0][0].State
		if err := steps[0][0].Cancel(f.now); err != nil {
			return err
		}
		t.Counts.Move(from, task.StepCancelled)
		t.Cancel(f.now)
		if err := tx.SaveTasks(ctx, []*task.Task{t}); err != nil {
			return err
		}
		return tx.SaveSteps(ctx, steps[0])
	})
}
