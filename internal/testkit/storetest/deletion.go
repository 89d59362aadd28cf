package storetest

import (
	"context"
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func deletionCases() []testCase {
	return []testCase{
		{"Bounds", deleteBounds},
		{"Limit", deleteLimit},
		{"EverythingThatBelongsToIt", deleteEverything},
		{"OnlyItsOwnKey", deleteOnlyItsOwnKey},
		{"KeepsWhatIsNotTerminal", deleteKeepsWhatIsNotTerminal},
		{"KeepsTheTaskOfAKey", deleteKeepsTheTaskOfAKey},
	}
}

// afterAllWindows is after all windows of idempotency keys.
const afterAllWindows = task.Instant(math.MaxInt64)

func deleteFinished(f *fixture, before task.Instant, limit int) int {
	f.Helper()
	var n int
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		n, err = tx.DeleteFinished(ctx, before, afterAllWindows, limit)
		return err
	})
	return n
}

func deleteBounds(f *fixture) {
	jobs := f.many(3)
	for i, j := range jobs {
		f.finish(j, f.now.Add(time.Duration(i+1)*time.Hour))
	}
	first := f.now.Add(time.Hour)
	f.equal("deleted at the time of the first", deleteFinished(f, first, 10), 0)
	f.equal("deleted after it", deleteFinished(f, first+1, 10), 1)
	f.equal("the first", f.find(jobs[0].task.ID), (*task.Task)(nil))
	f.wantJob(jobs[1])
	f.wantJob(jobs[2])
}

func deleteLimit(f *fixture) {
	for _, j := range f.many(5) {
		f.finish(j, f.now.Add(time.Minute))
	}
	var rounds []int
	for range 4 {
		rounds = append(rounds, deleteFinished(f, f.now.Add(time.Hour), 2))
	}
	f.equal("deleted a round", rounds, []int{2, 2, 1, 0})
}

func deleteEverything(f *fixture) {
	ctx := f.Context()
	kept, gone := f.build(f.single, 0), f.build(f.single, 0)
	kept.task.IdempotencyKey, gone.task.IdempotencyKey = keyOf(0), keyOf(1)
	f.insert(kept, gone)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for i, j := range []job{kept, gone} {
			step := j.steps[0]
			if err := tx.AddAttempts(ctx,
				[]task.Attempt{{StepID: step.ID, TaskID: j.task.ID, Token: 1, Outcome: task.Failed,
					FinishedAt: f.now}}); err != nil {
				return err
			}
			if err := tx.AddEvents(ctx,
				[]task.Event{{TaskID: j.task.ID, At: f.now, From: task.Pending, To: task.StepsInProcess}}); err != nil {
				return err
			}
			if err := f.store.ActStore().AddActs(ctx, tx,
				[]task.Act{{TaskID: j.task.ID, StepID: step.ID, At: f.now, Kind: "x", Actor: "ada", Reason: "y"}}); err != nil {
				return err
			}
			if _, _, err := takeKey(ctx, f, tx, engine.KeyName{Namespace: "default", Key: keyOf(i)},
				engine.Binding{Task: j.task.ID}, f.now, f.now.Add(time.Hour)); err != nil {
				return err
			}
		}
		return nil
	})
	f.finish(gone, f.now.Add(time.Minute))
	f.equal("deleted", deleteFinished(f, f.now.Add(time.Hour), 10), 1)

	for i, j := range []job{kept, gone} {
		want := 1 - i
		attempts, err := f.store.FindAttempts(ctx, j.task.ID)
		f.must(err)
		events, err := f.store.FindEvents(ctx, j.task.ID)
		f.must(err)
		acts, err := f.store.ActStore().FindActs(ctx, j.task.ID)
		f.must(err)
		f.equal("rows left of task "+keyOf(i), []int{len(f.findSteps(j.task.ID)), len(attempts), len(events)},
			[]int{want, want, want})
		f.equal("acts on task "+keyOf(i), len(acts), 1) // they outlive it
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Work(ctx, []task.ID{gone.steps[0].ID})
		f.equal("work", works, []engine.Work{{}})
		return err
	})
}

func keyOf(i int) string { return string(rune('A' + i)) }

// A key that is reused after its task is terminal passes to a younger task; deleting the older one must keep it.
func deleteOnlyItsOwnKey(f *fixture) {
	expires := f.now.Add(time.Hour)
	old, young := f.build(f.single, 0), f.build(f.single, 0)
	old.task.IdempotencyKey, young.task.IdempotencyKey = "k", "k"
	take := func(j job, now task.Instant) func(ctx context.Context, tx engine.Tx) error {
		return func(ctx context.Context, tx engine.Tx) error {
			if _, _, err := takeKey(ctx, f, tx, engine.KeyName{Namespace: "default", Key: "k"}, engine.Binding{Task: j.task.ID},
				now, expires.Add(time.Hour)); err != nil {
				return err
			}
			return insert(ctx, tx, j)
		}
	}
	f.write(take(old, f.now))
	f.finish(old, f.now.Add(time.Minute))
	f.write(take(young, expires.Add(2*time.Hour))) // as if expired
	f.equal("deleted", deleteFinished(f, f.now.Add(time.Hour), 10), 1)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		bound, taken, err := takeKey(ctx, f, tx, engine.KeyName{Namespace: "default", Key: "k"},
			engine.Binding{Task: f.store.IDs().Take(f.now.Time(), 1)}, f.now, expires)
		f.equal("taken", taken, true)
		f.equal("bound to", bound.Task, young.task.ID)
		return err
	})
}

// A key stays bound for its window: its task is kept so long, and so is a task that may have answered a submission with
// another key, because it guarded a unique one.
func deleteKeepsTheTaskOfAKey(f *fixture) {
	plain, keyed, guard := f.build(f.single, 0), f.build(f.single, 0), f.build(f.single, 0)
	keyed.task.IdempotencyKey = "k"
	guard.task.Meta.Unique = &task.UniqueMark{Key: "u", While: []string{"running"}}
	f.insert(plain, keyed, guard)
	end := f.now.Add(time.Minute)
	for _, j := range []job{plain, keyed, guard} {
		f.finish(j, end)
	}
	left := func(window task.Instant) (left []bool) {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			_, err := tx.DeleteFinished(ctx, f.now.Add(time.Hour), window, 10)
			return err
		})
		for _, j := range []job{plain, keyed, guard} {
			left = append(left, f.find(j.task.ID) != nil)
		}
		return left
	}
	created := keyed.task.CreatedAt
	f.equal("within the window", left(created-1), []bool{false, true, true})
	f.equal("at its end", left(created), []bool{false, false, true})
	f.equal("a window from the end of the guard", left(end-1), []bool{false, false, true})
	f.equal("after that", left(end), []bool{false, false, false})
}

func deleteKeepsWhatIsNotTerminal(f *fixture) {
	jobs := f.many(2) // the first fails, the second still waits
	f.move(jobs[0], func(s *task.Step) error { return s.Exhaust(f.now) })
	f.equal("state", jobs[0].task.State, task.Errored)
	f.equal("deleted", deleteFinished(f, f.now.Add(1000*time.Hour), 10), 0)
	f.wantJob(jobs[0])
	f.wantJob(jobs[1])
}
