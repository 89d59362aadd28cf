package upkeep_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// flaky fails its transactions while away is set.
type flaky struct {
	engine.Database
	away atomic.Bool
}

var errAway = task.Errorf(task.Unavailable, "the store is away")

func (f *flaky) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	if f.away.Load() {
		return errAway
	}
	return f.Database.Write(ctx, fn)
}

// world is a running engine in a bubble with its own clock.
type world struct {
	*engine.Engine
	store  *flaky
	upkeep *upkeep.Upkeep
	log    *bytes.Buffer // read it after the upkeep has ended
	worker task.ID
	stop   func()
}

func inBubble(t *testing.T, tick time.Duration, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, tick)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.upkeep.Run(ctx) }()
		var stopped bool
		w.stop = func() {
			if stopped {
				return
			}
			stopped = true
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("the upkeep ended with %v", err)
			}
		}
		defer w.stop()
		synctest.Wait()
		test(t, w)
	})
}

func newWorld(t *testing.T, tick time.Duration) *world {
	t.Helper()
	w := &world{store: &flaky{Database: memstore.New(&memstore.Options{Seed: 1})}, log: &bytes.Buffer{}}
	var err error
	w.Engine, err = engine.New(t.Context(), w.store, engine.Options{
		Config: settings.Config{UpkeepInterval: tick, Leases: settings.Leases{StartTimeout: 10 * time.Second}},
		Roll:   func() float64 { return 0.5 }, // delays without jitter
	})
	if err != nil {
		t.Fatal(err)
	}
	w.upkeep = upkeep.New(w.Engine, slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	registered, err := w.Register(t.Context(), task.Worker{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	w.worker = registered.ID
	return w
}

func (w *world) submit(t *testing.T, s engine.Submission) task.ID {
	t.Helper()
	receipts, err := w.Submit(t.Context(), []engine.Submission{s}, false)
	if err != nil {
		t.Fatal(err)
	}
	return receipts[0].ID
}

func (w *world) take(t *testing.T, wait time.Duration) (engine.Lease, bool) {
	t.Helper()
	leases, _, err := w.Poll(t.Context(), w.worker, 1, wait, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(leases) == 0 {
		return engine.Lease{}, false
	}
	return leases[0], true
}

func (w *world) settle(t *testing.T, l engine.Lease, r engine.Result) {
	t.Helper()
	r.Step, r.Token = l.Step.ID, l.Step.Token
	answers, err := w.Settle(t.Context(), []engine.Result{r})
	if err != nil || answers[0].Err != nil {
		t.Fatalf("settle was answered %+v, %v", answers, err)
	}
}

// TestRetriesFireAtTheirTime covers successive retries, long before the next tick.
func TestRetriesFireAtTheirTime(t *testing.T) {
	t.Parallel()
	inBubble(t, time.Hour, func(t *testing.T, w *world) {
		delays := []time.Duration{300 * time.Millisecond, 50 * time.Millisecond, 90 * time.Millisecond, 3 * time.Second}
		for range delays {
			w.submit(t, engine.Submission{TaskType: "h"})
		}
		begun := time.Now()
		due := map[task.ID]time.Duration{}
		for _, d := range delays {
			l, ok := w.take(t, 0)
			if !ok {
				t.Fatal("nothing is ready")
			}
			due[l.Step.ID] = d
			w.settle(t, l, engine.Result{Status: engine.ResultSnoozed, Snooze: d})
		}
		for range delays {
			l, ok := w.take(t, time.Minute)
			if !ok {
				t.Fatalf("after %v a step still waits for its time", time.Since(begun))
			}
			late := time.Since(begun) - due[l.Step.ID]
			if late < 0 || late > 2*time.Millisecond {
				t.Errorf("the step that is due after %v came %v late", due[l.Step.ID], late)
			}
			w.settle(t, l, engine.Result{Status: engine.ResultCompleted})
		}
	})
}

// TestRunAtOfBefore: tasks scheduled before this process began, unknown to NextDue, fire in time, too, if that is
// within a tick.
func TestRunAtOfBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second)
		begun := time.Now()
		w.submit(t, engine.Submission{TaskType: "h", RunAt: task.At(begun.Add(2300 * time.Millisecond))})
		<-w.NextDue() // as if another process had received it
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.upkeep.Run(ctx) }()
		if _, ok := w.take(t, time.Minute); !ok {
			t.Error("the step never came")
		} else if late := time.Since(begun) - 2300*time.Millisecond; late < 0 || late > 2*time.Millisecond {
			t.Errorf("the step came %v late", late)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestEveryLoopRuns: each loop does its work within a few ticks.
func TestEveryLoopRuns(t *testing.T) {
	t.Parallel()
	t.Run("Leases", func(t *testing.T) {
		t.Parallel()
		inBubble(t, time.Second, func(t *testing.T, w *world) {
			w.submit(t, engine.Submission{TaskType: "h"})
			if leases, _, err := w.Poll(t.Context(), w.worker, 1, 0, false); err != nil || len(leases) != 1 {
				t.Fatalf("got %+v, %v", leases, err)
			}
			begun := time.Now()
			if _, ok := w.take(t, time.Minute); !ok {
				t.Fatal("the step that was not started never came back")
			}
			if took := time.Since(begun); took < 10*time.Second || took > 11*time.Second {
				t.Errorf("it came back after %v, want 10 s and at most a tick", took)
			}
		})
	})
	t.Run("Workers", func(t *testing.T) {
		t.Parallel()
		inBubble(t, time.Second, func(t *testing.T, w *world) {
			time.Sleep(90*time.Second + 10*time.Second + time.Second) // heartbeats come at a third of the lease
			synctest.Wait()
			if got, err := w.Worker(t.Context(), w.worker); err != nil || got.State != task.WorkerDead {
				t.Errorf("the silent worker is %+v, %v", got, err)
			}
		})
	})
	t.Run("Deadlines", func(t *testing.T) {
		t.Parallel()
		inBubble(t, time.Second, func(t *testing.T, w *world) {
			tpl := &task.Template{Namespace: "default", Name: "bounded", Version: "1", Fingerprint: "f",
				Lifecycle: task.Lifecycle{MaxDuration: time.Minute},
				Steps:     []task.StepSpec{{Name: "a", Handler: "h", Retry: task.DefaultRetry()}}}
			if _, _, err := w.RegisterTemplate(t.Context(), tpl, engine.Registration{}); err != nil {
				t.Fatal(err)
			}
			id := w.submit(t, engine.Submission{Name: "bounded"})
			begun := time.Now()
			for {
				got, err := w.Task(t.Context(), id, time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				if got.State == task.Errored {
					break
				}
				if time.Since(begun) > 5*time.Minute {
					t.Fatalf("the task is %s long after its time", got.State)
				}
			}
			if took := time.Since(begun); took < time.Minute || took > time.Minute+time.Second {
				t.Errorf("the task is in error after %v, want a minute and at most a tick", took)
			}
		})
	})
	t.Run("Retention", func(t *testing.T) {
		t.Parallel()
		inBubble(t, time.Hour, func(t *testing.T, w *world) {
			id := w.submit(t, engine.Submission{TaskType: "h"})
			l, _ := w.take(t, 0)
			w.settle(t, l, engine.Result{Status: engine.ResultCompleted})
			time.Sleep(7*24*time.Hour + 2*time.Minute)
			synctest.Wait()
			if got, err := w.Task(t.Context(), id, 0); task.CodeOf(err) != task.NotFound {
				t.Errorf("a week later the task is %+v, %v", got, err)
			}
		})
	})
}

// TestStoreAway: a store's error is logged and retried, and due work is kept.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	inBubble(t, time.Second, func(t *testing.T, w *world) {
		w.submit(t, engine.Submission{TaskType: "h", RunAt: task.At(time.Now().Add(5 * time.Second))})
		w.store.away.Store(true)
		time.Sleep(10 * time.Second)
		w.store.away.Store(false)
		begun := time.Now()
		if _, ok := w.take(t, time.Minute); !ok {
			t.Fatal("the step never came")
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it came %v after the store was back, want at most a tick", took)
		}
		w.stop()
		log := w.log.String()
		for _, line := range []string{"level=ERROR", "retrying at the next interval", "loop=timers", "loop=leases",
			errAway.Error()} {
			if !strings.Contains(log, line) {
				t.Errorf("the log does not say %q:\n%s", line, log)
			}
		}
	})
}

func TestQuiet(t *testing.T) {
	t.Parallel()
	inBubble(t, time.Second, func(t *testing.T, w *world) {
		time.Sleep(time.Minute)
		w.stop()
		if w.log.Len() != 0 {
			t.Errorf("an idle minute was logged as\n%s", w.log)
		}
	})
}

// TestRunOnce handles more than a batch, and returns an error of the store.
func TestRunOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second)
		const many = 1201 // three batches
		at := task.At(time.Now().Add(time.Minute))
		subs := make([]engine.Submission, many)
		for i := range subs {
			subs[i] = engine.Submission{TaskType: "h", RunAt: at}
		}
		for len(subs) > 0 {
			n := min(len(subs), 1000)
			if _, err := w.Submit(t.Context(), subs[:n], false); err != nil {
				t.Fatal(err)
			}
			subs = subs[n:]
		}
		time.Sleep(time.Minute)
		if err := w.upkeep.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		var ready int
		for {
			leases, _, err := w.Poll(t.Context(), w.worker, 1000, 0, true)
			if err != nil {
				t.Fatal(err)
			}
			if len(leases) == 0 {
				break
			}
			ready += len(leases)
		}
		if ready != many {
			t.Errorf("%d steps are ready, want %d", ready, many)
		}
		w.store.away.Store(true)
		if err := w.upkeep.RunOnce(t.Context()); !errors.Is(err, errAway) {
			t.Errorf("without a store it reports %v", err)
		}
	})
}
