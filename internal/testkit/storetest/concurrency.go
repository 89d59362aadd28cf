package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func concurrencyCases() []testCase {
	return []testCase{
		{"ErrorsAreIsolated", errorsAreIsolated},
		{"NoStepTwice", noStepTwice},
		{"OneKeyOneTask", oneKeyOneTask},
		{"OneTemplateOneKey", oneTemplateOneKey},
		{"NoUpdateLost", noUpdateLost},
		{"ReadersSeeWholeTransactions", readersSeeWholeTransactions},
		{"CloseWhileWriting", closeWhileWriting},
	}
}

const callers = 16

func together(fn func(caller int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range callers {
		wg.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	wg.Wait()
}

// One caller's error must not affect others in the same commit.
func errorsAreIsolated(f *fixture) {
	const rounds = 10
	var jobs [callers][rounds]job
	for i := range callers {
		for r := range rounds {
			jobs[i][r] = f.build(f.single, 0)
		}
	}
	fails := func(caller, round int) bool { return (caller+round)%3 == 0 }
	together(func(i int) {
		for r := range rounds {
			err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
				if err := insert(ctx, tx, jobs[i][r]); err != nil {
					return err
				}
				if fails(i, r) {
					return fmt.Errorf("caller %d round %d: %w", i, r, errBoom)
				}
				return nil
			})
			switch want := fmt.Sprintf("caller %d round %d: boom", i, r); {
			case !fails(i, r) && err != nil:
				f.Errorf("a neighbour's error: %v", err)
			case fails(i, r) && (!errors.Is(err, errBoom) || err.Error() != want):
				f.Errorf("got the error %v, want %s", err, want)
			}
		}
	})
	for i := range callers {
		for r := range rounds {
			if fails(i, r) {
				f.equal("task of a failed Write", f.find(jobs[i][r].task.ID), (*task.Task)(nil))
			} else {
				f.wantJob(jobs[i][r])
			}
		}
	}
}

func noStepTwice(f *fixture) {
	const n = 300
	f.many(n)
	var (
		mu    sync.Mutex
		taken = map[task.ID]int64{}
	)
	together(func(i int) {
		for {
			var got []engine.Work
			err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
				var err error
				if got, err = tx.Ready(ctx, []int64{f.routes[0].ID}, 3); err != nil {
					return err
				}
				var steps []*task.Step
				for _, w := range got {
					if err := w.Step.Claim(int64(i+1), f.now, f.now.Add(time.Hour)); err != nil {
						return err
					}
					steps = append(steps, w.Step)
				}
				return tx.SaveSteps(ctx, steps)
			})
			if err != nil {
				f.Errorf("claim: %v", err)
				return
			}
			mu.Lock()
			for _, w := range got {
				if other, dup := taken[w.Step.ID]; dup {
					f.Errorf("step %s was handed to %d and to %d", w.Step.ID, other, i+1)
				}
				taken[w.Step.ID] = int64(i + 1)
			}
			mu.Unlock()
			if len(got) == 0 {
				return
			}
		}
	})
	f.equal("steps handed out", len(taken), n)
	for id, worker := range taken {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			works, err := tx.Work(ctx, []task.ID{id})
			f.equal("holder", works[0].Step.WorkerNo, worker)
			return err
		})
	}
}

func oneKeyOneTask(f *fixture) {
	for round := range 5 {
		key := keyOf(round)
		var created atomic.Int32
		var named [callers]task.ID
		together(func(i int) {
			isNew := false
			err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) (err error) {
				named[i], isNew, err = take(ctx, f, tx, "default", key, f.now, f.now.Add(time.Hour))
				return err
			})
			if err != nil {
				f.Errorf("take: %v", err)
			}
			if isNew {
				created.Add(1)
			}
		})
		f.equal("tasks created", created.Load(), int32(1))
		for _, id := range named {
			f.equal("named", id, named[0])
		}
		if f.find(named[0]) == nil {
			f.Error("the key names a task that does not exist")
		}
	}
}

func oneTemplateOneKey(f *fixture) {
	var fresh atomic.Int32
	var keys [callers]int64
	together(func(i int) {
		isNew := false
		err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
			t := diamond("default", "race", "1")
			existing, err := tx.InsertTemplate(ctx, t)
			if isNew = existing == nil; !isNew {
				t = existing
			}
			keys[i] = t.DefID
			return err
		})
		if err != nil {
			f.Errorf("insert: %v", err)
		}
		if isNew {
			fresh.Add(1)
		}
	})
	f.equal("inserted", fresh.Load(), int32(1))
	for _, k := range keys {
		f.equal("key", k, keys[0])
	}
}

// Every Write reads what it changes, so that concurrent ones add up.
func noUpdateLost(f *fixture) {
	const rounds = 10
	j := f.one()
	f.move(j, func(s *task.Step) error { return s.Claim(1, f.now, f.now.Add(time.Hour)) })
	together(func(int) {
		for range rounds {
			err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
				works, err := tx.Work(ctx, stepIDs(j))
				if err != nil {
					return err
				}
				works[0].Step.Attempts++
				return tx.SaveSteps(ctx, []*task.Step{works[0].Step})
			})
			if err != nil {
				f.Errorf("add: %v", err)
			}
		}
	})
	f.equal("attempts", f.findSteps(j.task.ID)[0].Attempts, 1+callers*rounds)
}

// A reader never sees half of a transaction, here a task without its steps.
func readersSeeWholeTransactions(f *fixture) {
	ctx, stop := context.WithCancel(f.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				tasks, _, err := f.store.ListTasks(context.Background(), engine.TaskFilter{Limit: 3})
				if err != nil {
					f.Errorf("list: %v", err)
					return
				}
				for _, t := range tasks {
					steps, err := f.store.FindSteps(context.Background(), t.ID)
					if err != nil || len(steps) != t.Counts.Total() {
						f.Errorf("task %s has %d steps of %d, error %v", t.ID, len(steps), t.Counts.Total(), err)
						return
					}
				}
			}
		})
	}
	for range 100 {
		f.insert(f.build(f.diamond, 0), f.build(f.single, 0))
	}
	stop()
	readers.Wait()
}

// Close lets a running Write end: it is committed, or returns an error.
func closeWhileWriting(f *fixture) {
	inside, release := make(chan struct{}), make(chan struct{})
	result := make(chan error, 1)
	j := f.build(f.single, 0)
	go func() {
		once := false
		result <- f.store.Write(context.Background(), func(ctx context.Context, tx engine.Tx) error {
			if !once {
				once = true
				close(inside)
				<-release
			}
			return insert(ctx, tx, j)
		})
	}()
	<-inside
	closed := make(chan error, 1)
	go func() { closed <- f.store.Close() }()
	close(release)
	f.must(<-result)
	f.must(<-closed)
}
