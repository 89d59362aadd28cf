package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func taskCases() []testCase {
	return []testCase{
		{"InsertThenFind", insertThenFind},
		{"FindUnknown", findUnknown},
		{"FindWrongLowBits", findWrongLowBits},
		{"InsertMany", insertMany},
		{"InsertTwice", insertTwice},
		{"TaskInTx", taskInTx},
		{"ContextInTx", contextInTx},
		{"StepsInTx", stepsInTx},
		{"WorkInTheOrderAsked", workInTheOrderAsked},
		{"SaveTasks", saveTasks},
		{"SaveTasksKeepsWhatIsFixed", saveTasksKeepsWhatIsFixed},
		{"SaveUnknown", saveUnknown},
		{"Overdue", overdue},
	}
}

func full(f *fixture) job {
	j := f.build(f.diamond, 0)
	j.task.Context = []byte(`{"order":17,"items":[1,2,3]}`)
	j.task.Priority = 75
	j.task.RunAt = f.now.Add(-time.Second)
	j.task.DeadlineAt = f.now.Add(4 * time.Hour)
	j.task.IdempotencyKey, j.task.CorrelationID = "order-17", "trace-4711"
	j.task.Meta = task.Meta{Tags: []string{"blue", "a b"}, ParentCorrelationID: "parent", Initiator: "ada",
		SourceSystem: "shop", Reason: "an order came in",
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	return j
}

func insertThenFind(f *fixture) {
	plain, rich := f.build(f.single, 0), full(f)
	f.insert(plain, rich)
	f.wantJob(plain)
	f.wantJob(rich)
}

func findUnknown(f *fixture) {
	f.one()
	ctx, unknown := f.Context(), f.store.IDs().Take(f.now.Time(), 1)
	f.equal("task", f.find(unknown), (*task.Task)(nil))
	f.equal("steps", f.findSteps(unknown), []*task.Step(nil))
	attempts, err := f.store.FindAttempts(ctx, unknown)
	f.must(err)
	f.equal("attempts", attempts, []task.Attempt(nil))
	events, err := f.store.FindEvents(ctx, unknown)
	f.must(err)
	f.equal("events", events, []task.Event(nil))
	acts, err := f.store.ActStore().FindActs(ctx, unknown)
	f.must(err)
	f.equal("acts", acts, []task.Act(nil))
}

// An ID is 122 bits, for any key of the store: a guess with the same sequence is another ID.
func findWrongLowBits(f *fixture) {
	j := f.one()
	forged := task.MakeID(j.task.ID.Seq(), j.task.ID.Low()^1)
	f.equal("task", f.find(forged), (*task.Task)(nil))
	f.equal("steps", f.findSteps(forged), []*task.Step(nil))
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := tx.Task(ctx, forged)
		f.equal("task in the transaction", got, (*task.Task)(nil))
		if err != nil {
			return err
		}
		step := j.steps[0].ID
		works, err := tx.Work(ctx, []task.ID{task.MakeID(step.Seq(), step.Low()^1)})
		f.equal("work", works, []engine.Work{{}})
		return err
	})
}

func insertMany(f *fixture) {
	var jobs []job
	for i := range 700 { // more than one statement's parameters
		j := f.build(f.diamond, time.Duration(i)*time.Millisecond)
		j.task.Context = fmt.Appendf(nil, `{"n":%d}`, i)
		jobs = append(jobs, j)
	}
	f.insert(jobs...)
	for _, i := range []int{0, 1, 350, 698, 699} {
		f.wantJob(jobs[i])
	}
}

func insertTwice(f *fixture) {
	j := f.one()
	err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error { return insert(ctx, tx, j) })
	if err == nil {
		f.Error("inserting a task again: no error")
	}
	f.wantJob(j)
}

func taskInTx(f *fixture) {
	j := full(f)
	f.insert(j)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := tx.Task(ctx, j.task.ID)
		if err != nil {
			return err
		}
		got.Context = j.task.Context // may be left out
		f.equal("task", got, j.task)
		none, err := tx.Task(ctx, j.steps[0].ID)
		f.equal("task by the ID of a step", none, (*task.Task)(nil))
		return err
	})
}

func contextInTx(f *fixture) {
	rich, none, fresh := full(f), f.build(f.single, 0), f.build(f.single, 0)
	fresh.task.Context = []byte(`"fresh"`)
	f.insert(rich, none)
	f.move(none, func(s *task.Step) error { return s.Claim(1, f.now, f.now.Add(time.Minute)) })
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := insert(ctx, tx, fresh); err != nil {
			return err
		}
		jobs := []job{rich, none, fresh}
		got, err := tx.Contexts(ctx, []task.ID{rich.task.ID, none.task.ID, fresh.task.ID})
		if err != nil {
			return err
		}
		for i, j := range jobs {
			f.equal("context", string(got[i]), string(j.task.Context))
		}
		return nil
	})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := tx.Contexts(ctx, []task.ID{fresh.task.ID})
		f.equal("context of a loaded task", string(got[0]), string(fresh.task.Context))
		return err
	})
}

func stepsInTx(f *fixture) {
	before, j, after := f.build(f.diamond, 0), f.build(f.diamond, 0), f.build(f.diamond, 0)
	f.insert(before, j, after)
	unknown := f.store.IDs().Take(f.now.Time(), 2)
	cases := []struct {
		name string
		of   engine.Family
		want []*task.Step
	}{
		{"all", engine.Family{Task: j.task.ID}, j.steps},
		{"2 and 4", engine.Family{Task: j.task.ID, Ordinals: []int{2, 4}}, []*task.Step{j.steps[1], j.steps[3]}},
		{"in any order", engine.Family{Task: j.task.ID, Ordinals: []int{4, 1, 3}},
			[]*task.Step{j.steps[0], j.steps[2], j.steps[3]}},
		// Ordinals past the end would be the steps of the next task.
		{"4 and beyond", engine.Family{Task: j.task.ID, Ordinals: []int{4, 5, 6}}, j.steps[3:]},
		{"none", engine.Family{Task: j.task.ID, Ordinals: []int{}}, nil},
		{"all of an unknown task", engine.Family{Task: unknown}, nil},
		{"one of an unknown task", engine.Family{Task: unknown, Ordinals: []int{1}}, nil},
		{"of another task", engine.Family{Task: after.task.ID, Ordinals: []int{1}}, after.steps[:1]},
		{"of an older task", engine.Family{Task: before.task.ID}, before.steps},
	}
	var families []engine.Family
	var want [][]*task.Step
	for _, c := range cases {
		families, want = append(families, c.of), append(want, c.want)
		f.write(func(ctx context.Context, tx engine.Tx) error {
			got, err := tx.Steps(ctx, []engine.Family{c.of})
			f.equal(c.name, got, [][]*task.Step{c.want})
			return err
		})
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := tx.Steps(ctx, families)
		f.equal("all of these in one call", got, want)
		return err
	})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := tx.Steps(ctx, nil)
		f.equal("no families", len(got), 0)
		return err
	})
}

func workInTheOrderAsked(f *fixture) {
	a, b := f.build(f.diamond, 0), f.build(f.single, 0)
	f.insert(a, b)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		unknown := f.store.IDs().Take(f.now.Time(), 1)
		works, err := tx.Work(ctx, []task.ID{a.steps[2].ID, unknown, b.steps[0].ID, a.task.ID, a.steps[0].ID})
		if err != nil {
			return err
		}
		if len(works) != 5 {
			return fmt.Errorf("got %d works for 5 IDs", len(works))
		}
		f.equal("first step", works[0].Step, a.steps[2])
		f.equal("unknown", works[1], engine.Work{})
		f.equal("third step", works[2].Step, b.steps[0])
		f.equal("the ID of a task", works[3], engine.Work{})
		f.equal("fifth step", works[4].Step, a.steps[0])
		f.equal("first task", works[0].Task, a.task)
		f.equal("third task", works[2].Task, b.task)
		if works[0].Task != works[4].Task {
			f.Error("two steps of one task do not share it")
		}
		return nil
	})
}

func saveTasks(f *fixture) {
	j := full(f)
	f.insert(j)
	j.task.DeadlineAt = f.now.Add(5 * time.Hour)
	j.task.Meta.CancelReason, j.task.Meta.CancelledBy = "no longer wanted", "ada"
	for _, s := range j.steps {
		was := s.State
		f.must(s.Cancel(f.now))
		j.task.Counts.Move(was, s.State)
	}
	j.task.Counts.ManualEnds = 3
	j.task.Cancel(f.now.Add(time.Second))
	f.write(j.save)
	f.wantJob(j)
}

func saveTasksKeepsWhatIsFixed(f *fixture) {
	j := full(f)
	f.insert(j)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		changed := *j.task
		changed.Context, changed.CreatedAt, changed.RunAt = nil, 1, 2
		changed.IdempotencyKey, changed.CorrelationID = "other", "other"
		return tx.SaveTasks(ctx, []*task.Task{&changed})
	})
	f.wantJob(j)
}

// Saving a missing row may be an error or not; it must not create one.
func saveUnknown(f *fixture) {
	j, ctx := f.build(f.single, 0), f.Context()
	_ = f.store.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		return tx.SaveTasks(ctx, []*task.Task{j.task})
	})
	_ = f.store.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return tx.SaveSteps(ctx, j.steps) })
	f.equal("task", f.find(j.task.ID), (*task.Task)(nil))
	f.equal("steps", f.findSteps(j.task.ID), []*task.Step(nil))
}

func overdue(f *fixture) {
	jobs := make([]job, 5)
	for i := range jobs {
		jobs[i] = f.build(f.single, 0)
		jobs[i].task.DeadlineAt = f.now.Add(time.Duration(i) * time.Minute)
	}
	jobs[0].task.DeadlineAt = 0 // never
	f.insert(jobs...)
	f.finish(jobs[1], f.now)
	jobs[1].task.DeadlineAt = 0 // as the engine leaves it
	f.write(jobs[1].save)
	for _, c := range []struct {
		name  string
		until task.Instant
		limit int
		want  []*task.Task
	}{
		{"before the first", f.now.Add(2*time.Minute) - 1, 10, nil},
		{"at the first", f.now.Add(2 * time.Minute), 10, []*task.Task{jobs[2].task}},
		{"all", f.now.Add(time.Hour), 10, []*task.Task{jobs[2].task, jobs[3].task, jobs[4].task}},
		{"a limit", f.now.Add(time.Hour), 2, []*task.Task{jobs[2].task, jobs[3].task}},
	} {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			got, err := tx.Overdue(ctx, c.until, c.limit)
			f.equal(c.name, got, c.want)
			return err
		})
		ids, err := f.store.OverdueTasks(f.Context(), c.until, c.limit)
		var want []task.ID
		for _, t := range c.want {
			want = append(want, t.ID)
		}
		f.equal(c.name+", their IDs", ids, want)
		if err != nil {
			f.Error(err)
		}
	}
}
