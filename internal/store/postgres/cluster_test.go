package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/storetest"
)

// job is a task of one step, ready on a route.
func job(s engine.Database, route int64) (*task.Task, *task.Step) {
	now := task.At(time.Now())
	id := s.IDs().Take(now.Time(), 2)
	step := &task.Step{ID: s.IDs().Step(id, 1), TaskID: id, Ordinal: 1, RouteID: route, State: task.StepEnqueued,
		MaxAttempts: 1,
		Queue:       route, Key: task.StrictKey(50, now), ReadyAt: now}
	return &task.Task{ID: id, State: task.StepsInProcess, Counts: task.Counts{Active: 1}, CreatedAt: now,
		Context: []byte(`{}`)}, step
}

func TestCluster(t *testing.T) {
	t.Parallel()
	storetest.RunCluster(t, false, func(t *testing.T) (a, b storetest.Node) {
		dsn := postgrestest.DSN(t)
		return open(t, dsn), open(t, dsn)
	})
}

func TestRaces(t *testing.T) {
	t.Parallel()
	storetest.RunRaces(t, func(t *testing.T) (a, b storetest.Node) {
		dsn := postgrestest.DSN(t)
		return open(t, dsn), open(t, dsn)
	})
}

func TestClusterPgBouncer(t *testing.T) {
	t.Parallel()
	notWhenShort(t)
	pooled := pgtest.PgBouncer(t, pgtest.Shared(t))
	pair := func(t *testing.T) (a, b storetest.Node) {
		dsn := postgrestest.Through(t, pooled)
		return open(t, dsn), open(t, dsn)
	}
	storetest.RunCluster(t, true, pair)
	t.Run("Races", func(t *testing.T) { storetest.RunRaces(t, pair) })
}

// A process asks about an empty route again after an event, or a doubt.
func TestOccupiedByAnother(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	here, there := open(t, dsn), open(t, dsn)
	ready := func(doubt bool) (n int) {
		t.Helper()
		err := here.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			if doubt {
				tx.Doubt()
			}
			works, err := tx.Ready(ctx, []int64{7}, 10)
			n = len(works)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := ready(false); n != 0 {
		t.Fatalf("%d steps ready in an empty database", n)
	}
	err := there.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		k, step := job(there, 7)
		return tx.InsertTasks(ctx, []*task.Task{k}, []*task.Step{step})
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := ready(true); n != 1 {
		t.Errorf("%d steps ready for one who doubts, want 1", n)
	}
	if got, err := here.Occupied(t.Context(), []int64{7}, 10); err != nil || got[7] != 1 {
		t.Fatalf("Occupied: %v, %v", got, err)
	}
	if n := ready(false); n != 1 {
		t.Errorf("%d steps ready, want 1", n)
	}
}
