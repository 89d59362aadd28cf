package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// stepping is a schema whose clock_timestamp a test steps.
type stepping struct {
	*testing.T
	dsn, schema string
	conn        *pgx.Conn
}

func newStepping(t *testing.T) *stepping {
	t.Helper()
	dsn := postgrestest.DSN(t)
	d, err := postgres.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	// pg_catalog comes first unless the path names it
	s := &stepping{T: t, schema: d.Schema, dsn: strings.Replace(dsn, "schema="+d.Schema,
		"search_path="+d.Schema+"%2Cpg_catalog", 1)}
	if s.conn, err = pgx.Connect(t.Context(), s.dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.conn.Close(context.Background()) })
	s.step(0)
	return s
}

func (s *stepping) step(by time.Duration) {
	s.Helper()
	_, err := s.conn.Exec(s.Context(), fmt.Sprintf(`CREATE OR REPLACE FUNCTION %s.clock_timestamp() RETURNS timestamptz
  LANGUAGE sql VOLATILE AS $$ SELECT pg_catalog.clock_timestamp() + interval '%d ms' $$`, s.schema, by.Milliseconds()))
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stepping) open() *postgres.Store { return open(s.T, s.dsn) }

func (s *stepping) wantTime(who string, st *postgres.Store, want time.Duration) {
	s.Helper()
	if off := time.Until(st.Now()); (off - want).Abs() > 900*time.Millisecond {
		s.Errorf("the time of %s is ahead by %v, want %v", who, off, want)
	}
}

func (s *stepping) measure(st *postgres.Store) {
	s.Helper()
	if err := st.MeasureClock(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// Neither a running nor a starting node believes a step of the database's clock, and no turn begins or ends by it.
func TestStepOfTheDatabasesClock(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			s := newStepping(t)
			old := s.open()
			turn := func(of *postgres.Store, want bool) {
				t.Helper()
				if ours, err := of.Turn(t.Context(), "x", 10*time.Second); err != nil || ours != want {
					t.Errorf("the turn: %v, %v, want %v", ours, err, want)
				}
			}
			turn(old, true)
			s.step(by)
			late := s.open()
			s.wantTime("a node that starts", late, 0)
			s.measure(old)
			s.wantTime("a node that runs", old, 0)
			if off := old.Suspected(); (off - by).Abs() > time.Second {
				t.Errorf("the node suspects a step of %v", off)
			}
			later := s.open()
			s.wantTime("a node that starts beside others", later, 0)
			turn(late, false)
			turn(old, true)
			s.step(0)
			for _, st := range []*postgres.Store{old, late, later} {
				s.measure(st)
				s.wantTime("a node after the step", st, 0)
				if off := st.Suspected(); off != 0 {
					t.Errorf("after the step a node suspects one of %v", off)
				}
			}
			turn(late, false)
		})
	}
}

// After the correction of a wrong time a node drops its memory of it: a route seen empty an hour ahead is read again
// immediately.
func TestTimesOfAWrongClock(t *testing.T) {
	t.Parallel()
	s := newStepping(t)
	var passed atomic.Int64 // beyond the real time
	real := clock.Machine()
	here, err := postgres.Open(t.Context(), s.dsn, postgres.OnMachine(func() clock.Reading {
		r, more := real(), time.Duration(passed.Load())
		return clock.Reading{Wall: r.Wall.Add(more), Mono: r.Mono + more}
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = here.Close() })
	// the database's clock is ahead for longer than a minute
	lasts := func(by, want time.Duration) {
		t.Helper()
		for range 2 {
			s.step(time.Duration(passed.Add(int64(61*time.Second))) + by)
			s.measure(here)
		}
		s.wantTime("the node", here, want+time.Duration(passed.Load()))
	}
	ready := func() (n int) {
		t.Helper()
		err := here.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			works, err := tx.Ready(ctx, []int64{7}, 10)
			n = len(works)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	forgot := 0
	here.OnReplaced(func() { forgot++ })
	lasts(time.Hour, time.Hour)
	if n := ready(); n != 0 || forgot != 0 {
		t.Fatalf("%d steps in an empty database; everything was dropped %d times", n, forgot)
	}
	lasts(0, 0)
	there := s.open()
	err = there.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		k, step := job(there, 7)
		return tx.InsertTasks(ctx, []*task.Task{k}, []*task.Step{step})
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := ready(); n != 1 || forgot != 1 {
		t.Errorf("%d steps ready, want 1; everything was dropped %d times", n, forgot)
	}
}

// A turn taken under a wrong time ends with it.
func TestTurnInTheFuture(t *testing.T) {
	t.Parallel()
	s := newStepping(t)
	if _, err := s.conn.Exec(t.Context(), `INSERT INTO tasker_turns (loop, node, taken_at, held_until)
  VALUES ('x', 'gone', $1, $2)`,
		time.Now().Add(time.Hour).UnixMicro(), time.Now().Add(time.Hour+3*time.Second).UnixMicro()); err != nil {
		t.Fatal(err)
	}
	if ours, err := s.open().Turn(t.Context(), "x", time.Second); err != nil || !ours {
		t.Errorf("the turn: %v, %v", ours, err)
	}
}
