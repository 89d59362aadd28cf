package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/pgtest"
	"github.com/taskerhq/tasker/internal/task"
)

// job is a task of one step, ready on a route.
func job(s engine.Store, route int64) (*task.Task, *task.Step) {
	now := task.At(time.Now())
	id := s.IDs().Take(now.Time(), 2)
	step := &task.Step{ID: s.IDs().Step(id, 1), TaskID: id, Ordinal: 1, RouteID: route, State: task.StepEnqueued, MaxAttempts: 1,
		Queue: route, Key: task.StrictKey(50, now), ReadyAt: now}
	return &task.Task{ID: id, State: task.StepsInProcess, Counts: task.Counts{Active: 1}, CreatedAt: now, Context: []byte(`{}`)}, step
}

func TestOccupied(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.DSN(t))
	err := s.Write(t.Context(), func(tx engine.Tx) error {
		for _, route := range []int64{7, 7, 7, 9} {
			k, step := job(s, route)
			if err := tx.InsertTasks([]*task.Task{k}, []*task.Step{step}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Occupied(t.Context(), []int64{7, 8, 9}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int64]int{7: 2, 9: 1}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if none, err := s.Occupied(t.Context(), nil, 2); err != nil || len(none) != 0 {
		t.Errorf("no routes: %v, %v", none, err)
	}
}

// A process that found a route empty asks about it again once it hears of it.
func TestOccupiedByAnother(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	here, there := open(t, dsn), open(t, dsn)
	ready := func() (n int) {
		t.Helper()
		err := here.Write(t.Context(), func(tx engine.Tx) error {
			works, err := tx.Ready([]int64{7}, 10)
			n = len(works)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := ready(); n != 0 {
		t.Fatalf("%d steps ready in an empty database", n)
	}
	err := there.Write(t.Context(), func(tx engine.Tx) error {
		k, step := job(there, 7)
		return tx.InsertTasks([]*task.Task{k}, []*task.Step{step})
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := here.Occupied(t.Context(), []int64{7}, 10); err != nil || got[7] != 1 {
		t.Fatalf("Occupied: %v, %v", got, err)
	}
	if n := ready(); n != 1 {
		t.Errorf("%d steps ready, want 1", n)
	}
}

func TestSettled(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.DSN(t))
	live, step := job(s, 7)
	done, doneStep := job(s, 7)
	done.State, done.Counts = task.Complete, task.Counts{Done: 1}
	if err := s.Write(t.Context(), func(tx engine.Tx) error {
		return tx.InsertTasks([]*task.Task{live, done}, []*task.Step{step, doneStep})
	}); err != nil {
		t.Fatal(err)
	}
	gone := s.IDs().Take(time.Now(), 1)
	got, err := s.Settled(t.Context(), []task.ID{live.ID, done.ID, gone})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]task.ID{done.ID, gone}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	a, b := open(t, dsn), open(t, dsn)
	if at, err := a.LastTurn(t.Context()); err != nil || at != 0 {
		t.Errorf("LastTurn before any: %v, %v", at, err)
	}
	turn := func(s engine.Cluster, hold time.Duration) bool {
		t.Helper()
		mine, err := s.Turn(t.Context(), "timers", hold)
		if err != nil {
			t.Fatal(err)
		}
		return mine
	}
	for i, step := range []struct {
		who  engine.Cluster
		hold time.Duration
		want bool
	}{
		{a, time.Hour, true},
		{b, time.Hour, false}, // it is a's
		{a, time.Hour, true},  // and stays a's
		{a, 0, true},          // which gives it up
		{b, time.Hour, true},
		{a, time.Hour, false},
	} {
		if got := turn(step.who, step.hold); got != step.want {
			t.Errorf("turn %d: %v", i, got)
		}
	}
	at, err := a.LastTurn(t.Context())
	if err != nil || a.Now().Sub(at.Time()).Abs() > time.Minute {
		t.Errorf("LastTurn: %v, %v", at.Time(), err)
	}
}

// News reach the others, and not the one who tells them.
func TestNews(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	a, b := open(t, dsn), open(t, dsn)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	heard := make(chan engine.News, 100)
	go func() { _ = a.Listen(ctx, func(n engine.News) { t.Errorf("told itself %+v", n) }) }()
	go func() { _ = b.Listen(ctx, func(n engine.News) { heard <- n }) }()
	again := time.NewTicker(50 * time.Millisecond) // b may not listen yet
	defer again.Stop()
	want := engine.News{Routes: []int64{3, 5}, Workers: []int64{9}, Registry: true}
	for {
		a.Announce(want)
		select {
		case n := <-heard:
			if diff := cmp.Diff(want, n); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			return
		case <-again.C:
		case <-ctx.Done():
			t.Fatal("nothing was heard")
		}
	}
}
