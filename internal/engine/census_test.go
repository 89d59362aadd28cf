package engine_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// newEngine runs every transaction twice, the first time in vain; only tick moves its clock.
func newEngine(t *testing.T, opts engine.Options) (e *engine.Engine, tick func(time.Duration)) {
	t.Helper()
	return newEngineOn(t, memstore.New(&memstore.Options{Seed: 1, Rehearse: true}), opts)
}

func newEngineOn(t *testing.T, s engine.Database, opts engine.Options) (e *engine.Engine, tick func(time.Duration)) {
	t.Helper()
	var now atomic.Int64 // nanoseconds; atomic because a dispatcher's outbox reads it concurrently
	now.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	opts.Now = func() time.Time { return time.Unix(0, now.Load()).UTC() }
	e, err := engine.New(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return e, func(d time.Duration) { now.Add(int64(d)) }
}

func submit(t *testing.T, e *engine.Engine, subs ...engine.Submission) []engine.Receipt {
	t.Helper()
	receipts, err := e.Submit(t.Context(), subs, false)
	if err != nil {
		t.Fatal(err)
	}
	return receipts
}

func census(t *testing.T, e *engine.Engine) *engine.Census {
	t.Helper()
	c, err := e.Census(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func register(t *testing.T, e *engine.Engine, capacity int) *task.Worker {
	t.Helper()
	w, err := e.Register(t.Context(), task.Worker{Name: "w", Capacity: capacity})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestCensus(t *testing.T) {
	t.Parallel()
	t.Run("Empty", func(t *testing.T) {
		t.Parallel()
		e, _ := newEngine(t, engine.Options{})
		if c := census(t, e); len(c.Ready) != 0 || c.Leased != 0 || c.Waiting != 0 || c.NextDue != 0 ||
			c.Investigations.Pending != 0 {
			t.Errorf("a fresh store has %+v", c)
		}
	})
	t.Run("OldestInEveryBand", func(t *testing.T) {
		t.Parallel()
		e, tick := newEngine(t, engine.Options{})
		submit(t, e, engine.Submission{TaskType: "mail", Priority: "low"})
		oldest := e.Now()
		tick(time.Minute)
		submit(t, e, engine.Submission{TaskType: "mail", Priority: "0"},
			engine.Submission{TaskType: "mail", Priority: "high"})
		c := census(t, e)
		if len(c.Ready) != 1 || c.Ready[0].Steps != 3 || c.Ready[0].Oldest != oldest || c.Ready[0].Route.Handler != "mail" {
			t.Errorf("ready is %+v, want 3 for mail, the oldest since %d", c.Ready, oldest)
		}
	})
	t.Run("LeasesTimersWorkers", func(t *testing.T) {
		t.Parallel()
		e, tick := newEngine(t, engine.Options{})
		w := register(t, e, 7)
		runAt := e.Now().Add(time.Hour)
		submit(t, e, engine.Submission{TaskType: "mail"}, engine.Submission{TaskType: "later", RunAt: runAt})
		if _, _, err := e.Poll(t.Context(), w.ID, 1, 0, true); err != nil {
			t.Fatal(err)
		}
		tick(time.Minute)
		c := census(t, e)
		if c.Leased != 1 || c.Waiting != 1 || c.NextDue != runAt {
			t.Errorf("%d leased, %d waiting, next at %d; want 1, 1, %d", c.Leased, c.Waiting, c.NextDue, runAt)
		}
		if c.Workers[task.WorkerActive] != 1 || c.Capacity != 7 {
			t.Errorf("workers are %v with capacity %d", c.Workers, c.Capacity)
		}
		for _, r := range c.Ready {
			if r.Steps != 0 || r.Oldest != 0 {
				t.Errorf("nothing is ready, but the census says %+v", r)
			}
		}
	})
	t.Run("CasesAndHealth", func(t *testing.T) {
		t.Parallel()
		// 30 minutes in steps_in_process; the limits of the queue are negligible
		e, tick := newEngine(t,
			engine.Options{
				Config: settings.Config{Scheduling: settings.Scheduling{MaxWait: time.Microsecond,
					PromotionInterval: time.Microsecond}}})
		health := func(want string) {
			t.Helper()
			if got := fmt.Sprint(census(t, e).Investigations); got != want {
				t.Errorf("cases and health are %s, want %s", got, want)
			}
		}
		first := submit(t, e, engine.Submission{TaskType: "mail"}, engine.Submission{TaskType: "mail"})
		tick(10 * time.Minute)
		submit(t, e, engine.Submission{TaskType: "mail"})
		tick(15 * time.Minute)
		health("{0 map[healthy:0 stale:0 warning:2]}") // before the detector has run
		if _, err := e.Survey(t.Context()); err != nil {
			t.Fatal(err)
		}
		health("{0 map[healthy:0 stale:0 warning:2]}")
		tick(11 * time.Minute)
		health("{0 map[healthy:0 stale:2 warning:1]}")
		if found, err := e.DetectStaleness(t.Context(), 1, false); err != nil || len(found) != 1 {
			t.Fatalf("detected are %+v, %v", found, err)
		}
		health("{1 map[healthy:0 stale:1 warning:1]}")
		if _, err := e.OpenCase(t.Context(), first[1].ID, engine.CaseRequest{Actor: "ann", Reason: "odd"}); err != nil {
			t.Fatal(err)
		}
		submit(t, e, engine.Submission{TaskType: "mail"})
		health("{2 map[healthy:0 stale:1 warning:1]}")
	})
	t.Run("RepairedTasksAreNotCounted", func(t *testing.T) {
		t.Parallel()
		e, tick := newEngine(t, engine.Options{})
		subs := make([]engine.Submission, 20)
		for i := range subs {
			subs[i] = engine.Submission{TaskType: "mail"}
		}
		submit(t, e, subs...)
		tick(2 * time.Hour)
		found, err := e.DetectStaleness(t.Context(), 0, false)
		if err != nil || len(found) != len(subs) {
			t.Fatalf("%d of %d are stale, %v", len(found), len(subs), err)
		}
		for _, d := range found {
			steps, err := e.Read().FindSteps(t.Context(), d.Task)
			if err != nil {
				t.Fatal(err)
			}
			kind := engine.ResolveManually
			if d.Task == found[0].Task {
				kind = engine.ResetForRetry
			}
			if _, err := e.Operate(t.Context(), d.Task, steps[0].ID,
				engine.StepAct{Kind: kind, Actor: "ann", Reason: "done"}); err != nil {
				t.Fatal(err)
			}
		}
		if got := census(t, e).Investigations.Health["healthy"]; got != 1 {
			t.Errorf("%d tasks are healthy, and 1 is live", got)
		}
	})
	t.Run("MaxDuration", func(t *testing.T) {
		t.Parallel()
		e, tick := newEngine(t, engine.Options{})
		tpl := &task.Template{Namespace: "default", Name: "slow", Version: "1", Fingerprint: "x", Source: "x",
			Lifecycle: task.Lifecycle{MaxDuration: 10 * time.Minute},
			Steps:     []task.StepSpec{{Name: "a", Handler: "h", Retry: task.DefaultRetry()}}}
		tpl.Link()
		if _, _, err := e.RegisterTemplate(t.Context(), tpl, engine.Registration{}); err != nil {
			t.Fatal(err)
		}
		submit(t, e, engine.Submission{Name: "slow"})
		for after, want := range []string{"map[healthy:0 stale:0 warning:0]", "map[healthy:0 stale:0 warning:1]",
			"map[healthy:0 stale:1 warning:0]"} {
			if got := fmt.Sprint(census(t, e).Investigations.Health); got != want {
				t.Errorf("look %d: health is %s, want %s", after, got, want)
			}
			tick([]time.Duration{8 * time.Minute, 2 * time.Minute, 0}[after])
		}
	})
	t.Run("AnOutageIsAnError", func(t *testing.T) {
		t.Parallel()
		s := memstore.New(nil)
		e, err := engine.New(t.Context(), s, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if c, err := e.Census(t.Context()); err == nil {
			t.Errorf("a closed store has %+v", c)
		}
	})
}
