package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

func types(from, n int) []engine.Submission {
	subs := make([]engine.Submission, n)
	for i := range subs {
		subs[i] = engine.Submission{TaskType: fmt.Sprintf("type-%06d", from+i)}
	}
	return subs
}

func drain(t *testing.T, e *engine.Engine, worker task.ID) int {
	t.Helper()
	for n := 0; ; {
		leases, _, err := e.Poll(t.Context(), worker, 1000, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(leases) == 0 {
			return n
		}
		settleAll(t, e, leases)
		n += len(leases)
	}
}

func settleAll(t *testing.T, e *engine.Engine, leases []engine.Lease) {
	t.Helper()
	results := make([]engine.Result, len(leases))
	for i, l := range leases {
		results[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}
	}
	if _, err := e.Settle(t.Context(), results); err != nil {
		t.Fatal(err)
	}
}

// Evicted task types are served too, also to a waiting poll.
func TestManyTaskTypes(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tasker.db"), &sqlite.Options{Seed: 1, Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	count, kept := 24_000, 10_000
	cfg := settings.Config{Limits: settings.Limits{Routes: 2 * count}}
	e, _ := newEngineOn(t, s, engine.Options{Config: cfg})
	if testing.Short() {
		count, kept = 3_000, 1_000
		e.KeepRoutes(kept)
	}
	w := register(t, e, 1000)
	err = s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		// one commit each would take minutes
		for _, in := range types(0, count) {
			if _, err := tx.InsertTemplate(ctx, task.Adhoc(engine.DefaultNamespace, in.TaskType)); err != nil {
				return err
			}
			if err := tx.InsertRoute(ctx, &task.Route{Namespace: engine.DefaultNamespace, Handler: in.TaskType}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	served := 0
	for from := 0; from < count; from += 1000 {
		submit(t, e, types(from, 1000)...)
		served += drain(t, e, w.ID)
		if templates, routes, sets := e.CatalogSize(); templates > 10_000 || routes > kept || sets > 5000 {
			t.Fatalf("after %d types %d templates, %d routes and %d sets of polls are in memory", from, templates, routes, sets)
		}
	}
	if served != count {
		t.Fatalf("%d of %d steps were served", served, count)
	}
	t.Run("WaitingPoll", func(t *testing.T) {
		got := make(chan []engine.Lease, 1)
		go func() {
			leases, _, err := e.Poll(t.Context(), w.ID, 1, time.Minute, true)
			if err != nil {
				t.Error(err)
			}
			got <- leases
		}()
		submit(t, e, types(0, 1)...) // evicted
		if leases := <-got; len(leases) != 1 {
			t.Fatalf("the waiting poll got %d steps", len(leases))
		} else {
			settleAll(t, e, leases)
		}
	})
	t.Run("AfterOpening", func(t *testing.T) {
		submit(t, e, types(0, 5)...)
		again, _ := newEngineOn(t, s, engine.Options{Config: cfg})
		if n := drain(t, again, w.ID); n != 5 {
			t.Errorf("%d of 5 steps are served after the engine was opened again", n)
		}
	})
}

// Steps become ready, by time, on evicted routes.
func TestReadyOnARouteThatLeft(t *testing.T) {
	t.Parallel()
	t.Run("Native", func(t *testing.T) {
		t.Parallel()
		readyOnARouteThatLeft(t, nil)
	})
	t.Run("Dispatched", func(t *testing.T) {
		t.Parallel()
		readyOnARouteThatLeft(t, memory.NewServer().Open())
	})
}

func readyOnARouteThatLeft(t *testing.T, d engine.Dispatcher) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tasker.db"), &sqlite.Options{Seed: 1, Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	e, tick := newEngineOn(t, s, engine.Options{Dispatcher: d})
	e.KeepRoutes(8)
	if d != nil {
		if err := e.MaintainDispatch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w := register(t, e, 1000)
	later := types(0, 20)
	for i := range later {
		later[i].RunAt = e.Now().Add(time.Minute)
	}
	submit(t, e, later...)
	submit(t, e, types(100, 20)...)
	if n := drain(t, e, w.ID); n != 20 {
		t.Fatalf("%d of 20 steps were served", n)
	}
	submit(t, e, types(200, 3)...)
	if _, routes, _ := e.CatalogSize(); routes > 8 {
		t.Fatalf("%d routes are in memory, of at most 8", routes)
	}
	tick(2 * time.Minute)
	if _, err := e.FireTimers(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	if n := drain(t, e, w.ID); n != 23 {
		t.Errorf("%d of 23 steps were served", n)
	}
}

// A node finds by polling the steps of another on routes that it has evicted.
func TestTaskTypesOfAnotherNode(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	node := func() *engine.Engine {
		s, err := postgres.Open(t.Context(), dsn, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		e, err := engine.New(t.Context(), s, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e.KeepRoutes(8)
		return e
	}
	here, there := node(), node()
	w := register(t, here, 1000)
	for round := range 2 {
		submit(t, there, types(0, 30)...)
		if err := here.PollPeers(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := drain(t, here, w.ID); n != 30 {
			t.Fatalf("round %d: %d of 30 steps were served", round, n)
		}
		submit(t, here, types(100*round+100, 30)...) // evicts the others
		drain(t, here, w.ID)
		submit(t, here, types(100*round+150, 3)...)
		if _, routes, _ := here.CatalogSize(); routes > 8 {
			t.Fatalf("round %d: %d routes are in memory, of at most 8", round, routes)
		}
		drain(t, here, w.ID)
	}
}

func TestTaskTypesHaveALimit(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t, engine.Options{Config: settings.Config{Limits: settings.Limits{Routes: 3}}})
	submit(t, e, types(0, 3)...)
	refused := func(in engine.Submission, at, what string) {
		t.Helper()
		_, err := e.Submit(t.Context(), []engine.Submission{{TaskType: "type-000000"}, in}, false)
		if task.CodeOf(err) != task.Invalid || !strings.Contains(err.Error(), at) || !strings.Contains(err.Error(), what) ||
			!strings.Contains(err.Error(), "engine.limits.routes") {
			t.Errorf("%+v is answered with: %v", in, err)
		}
	}
	refused(engine.Submission{TaskType: "type-000003"}, "/tasks/1/task_type", "3 handlers")
	refused(engine.Submission{TaskType: "type-000001", Capabilities: []string{"gpu"}}, "/tasks/1/task_type", "3 routes")
	submit(t, e, types(0, 3)...)
	submit(t, e, engine.Submission{TaskType: "type-000003", Namespace: "another"})
	receipts, err := e.Submit(t.Context(), []engine.Submission{{TaskType: "type-000004"}, {TaskType: "type-000002"}}, true)
	if err != nil || receipts[0].Err == nil || receipts[1].Err != nil {
		t.Errorf("of a new type and one that is known, judged one by one: %+v, %v", receipts, err)
	}
	if n := len(receipts); n != 2 {
		t.Errorf("%d receipts of 2", n)
	}
}
