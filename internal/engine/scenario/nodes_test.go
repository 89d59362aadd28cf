package scenario_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// Two nodes on one PostgreSQL. Package upkeep tests their timing; here the database carries the messages.

const patient = 30 * time.Second

func startNode(t *testing.T, dsn string, poll time.Duration) *engine.Engine {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	e, err := engine.New(t.Context(), s, engine.Options{Config: settings.Config{PollInterval: poll}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- upkeep.New(e, slog.New(slog.NewTextHandler(t.Output(), nil))).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the upkeep ended with %v", err)
		}
	})
	return e
}

func pollElsewhere(t *testing.T, here, elsewhere *engine.Engine) engine.Lease {
	t.Helper()
	w, err := here.Register(t.Context(), task.Worker{})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []engine.Lease, 1)
	go func() {
		leases, _, err := here.Poll(t.Context(), w.ID, 1, patient, true)
		if err != nil {
			t.Error(err)
		}
		got <- leases
	}()
	again := time.NewTicker(time.Second) // the poll may not have begun, nor the node listened
	defer again.Stop()
	for {
		if _, err := elsewhere.Submit(t.Context(), []engine.Submission{job}, false); err != nil {
			t.Fatal(err)
		}
		select {
		case leases := <-got:
			if len(leases) != 1 {
				t.Fatalf("the poll came back with %d steps", len(leases))
			}
			return leases[0]
		case <-again.C:
		}
	}
}

// News alone bring steps of one node to a poll on another.
func TestNodesTellEachOther(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	a, b := startNode(t, dsn, time.Hour), startNode(t, dsn, time.Hour)
	pollElsewhere(t, a, b)
	pollElsewhere(t, b, a)
}

// Without news, which some poolers block, steps and settlements still arrive.
func TestNodesFollowWithoutNews(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t, pgtest.PgBouncer(t, pgtest.Shared(t)))
	a, b := startNode(t, dsn, 100*time.Millisecond), startNode(t, dsn, 100*time.Millisecond)
	l := pollElsewhere(t, a, b)
	done := make(chan *task.Task, 1)
	go func() {
		got, err := b.Task(t.Context(), l.Task.ID, patient)
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	answers, err := a.Settle(t.Context(),
		[]engine.Result{{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}})
	if err != nil || answers[0].Err != nil {
		t.Fatalf("settle was answered %+v, %v", answers, err)
	}
	began := time.Now()
	if got := <-done; got == nil || got.State != task.Complete || time.Since(began) > patient/2 {
		t.Errorf("after %v the task is %+v", time.Since(began), got)
	}
}
