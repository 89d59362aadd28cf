package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// handedOut is a step that a process leased to a worker, and so has cached.
func handedOut(t *testing.T, s *postgres.Store) task.ID {
	t.Helper()
	k, step := job(s, 7)
	err := s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return tx.InsertTasks(ctx, []*task.Task{k}, []*task.Step{step})
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Ready(ctx, []int64{7}, 1)
		if err != nil {
			return err
		}
		if len(works) != 1 {
			t.Fatalf("%d steps are ready, want 1", len(works))
		}
		now := task.At(time.Now())
		if err := works[0].Step.Assign(1, now, now.Add(time.Hour)); err != nil {
			return err
		}
		return tx.SaveSteps(ctx, []*task.Step{works[0].Step})
	})
	if err != nil {
		t.Fatal(err)
	}
	return step.ID
}

// unlessWaiting refuses anything about a step that is not on its route, and counts its calls.
func unlessWaiting(id task.ID, runs *int) func(context.Context, engine.Tx) error {
	return func(ctx context.Context, tx engine.Tx) error {
		*runs++
		works, err := tx.Work(ctx, []task.ID{id})
		if err != nil {
			return err
		}
		if works[0].Step.State != task.StepEnqueued {
			return task.Errorf(task.Conflict, "the step is %s", works[0].Step.State)
		}
		return nil
	}
}

// A refusal because of cached rows is decided again on fresh ones.
func TestRefusedOnWhatWasRemembered(t *testing.T) {
	t.Parallel()
	t.Run("Changed", func(t *testing.T) {
		t.Parallel()
		dsn := postgrestest.DSN(t)
		here, there := open(t, dsn), open(t, dsn)
		id := handedOut(t, here)
		err := there.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			works, err := tx.Work(ctx, []task.ID{id})
			if err != nil {
				return err
			}
			if err := works[0].Step.Enqueue(task.At(time.Now()), task.Scheduling{}); err != nil {
				return err
			}
			return tx.SaveSteps(ctx, []*task.Step{works[0].Step})
		})
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		if err := here.Write(t.Context(), unlessWaiting(id, &runs)); err != nil || runs != 2 {
			t.Errorf("what another process has made possible ends in %v after %d runs", err, runs)
		}
	})
	t.Run("Unchanged", func(t *testing.T) {
		t.Parallel()
		here := open(t, postgrestest.DSN(t))
		id := handedOut(t, here)
		for _, want := range []int{2, 1} { // the second time nothing is cached
			runs := 0
			err := here.Write(t.Context(), unlessWaiting(id, &runs))
			if task.CodeOf(err) != task.Conflict || runs != want {
				t.Errorf("a refusal ends in %v after %d runs, want %d", err, runs, want)
			}
		}
	})
}
