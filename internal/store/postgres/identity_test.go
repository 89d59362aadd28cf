package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// operator changes databases under running nodes.
type operator struct {
	*testing.T
	conn *pgx.Conn
}

func newOperator(t *testing.T, dsn string) *operator {
	t.Helper()
	d, err := postgres.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), d.Pool.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return &operator{t, conn}
}

func (o *operator) do(statements ...string) {
	o.Helper()
	for _, s := range statements {
		if _, err := o.conn.Exec(context.Background(), s); err != nil {
			o.Fatalf("%s: %v", s, err)
		}
	}
}

// watched opens a node and counts how often it drops its memory.
func watched(t *testing.T, dsn string) (*postgres.Store, *atomic.Int64) {
	t.Helper()
	s, n := open(t, dsn), &atomic.Int64{}
	s.OnReplaced(func() { n.Add(1) })
	return s, n
}

// An older state of the tables, with the same cluster, timeline and log: a claim by memory gets no step, and a new
// connection and the regular look notice it.
func TestOlderState(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]func(s *postgres.Store) error{
		"Claim": func(s *postgres.Store) error {
			err := s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
				_, err := tx.Ready(ctx, []int64{7}, 10)
				return err
			})
			if !errors.Is(err, engine.ErrReplaced) {
				return fmt.Errorf("the claim: %w", err)
			}
			return nil
		},
		"Connection": func(s *postgres.Store) error {
			s.ResetPool()
			return s.Ping(t.Context())
		},
		"Look": func(s *postgres.Store) error { return s.MeasureClock(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := postgrestest.DSN(t)
			s, dropped := watched(t, dsn)
			o := newOperator(t, dsn)
			k, step := job(s, 7)
			if err := s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
				return tx.InsertTasks(ctx, []*task.Task{k}, []*task.Step{step})
			}); err != nil {
				t.Fatal(err)
			}
			o.do(`CREATE TEMPORARY TABLE saved AS SELECT * FROM tasker_meta`)
			if err := s.MeasureClock(t.Context()); err != nil || dropped.Load() != 0 {
				t.Fatalf("before: %v, dropped %d times", err, dropped.Load())
			}
			o.do(`UPDATE tasker_meta m SET value = saved.value FROM saved WHERE saved.key = m.key`)
			if err := notice(s); err != nil {
				t.Error(err)
			}
			if n := dropped.Load(); n == 0 {
				t.Error("the node did not notice")
			}
			for range 2 { // it continues in the present state
				before := dropped.Load()
				if err := s.MeasureClock(t.Context()); err != nil || dropped.Load() != before {
					t.Errorf("afterwards: %v, dropped %d times more", err, dropped.Load()-before)
				}
			}
		})
	}
}

// Another schema gets a node's name, while its connections live on.
func TestRenamedSchema(t *testing.T) {
	t.Parallel()
	dsn, other := pgtest.DSN(t), pgtest.DSN(t)
	s, dropped := watched(t, dsn)
	open(t, other)
	o := newOperator(t, dsn)
	name := func(dsn string) string {
		d, err := postgres.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		return d.Schema
	}
	a, b := name(dsn), name(other)
	o.do("ALTER SCHEMA "+a+" RENAME TO "+a+"_was", "ALTER SCHEMA "+b+" RENAME TO "+a)
	if err := s.MeasureClock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if dropped.Load() == 0 {
		t.Error("the node did not notice")
	}
	o.do("ALTER SCHEMA "+a+" RENAME TO "+b, "ALTER SCHEMA "+a+"_was RENAME TO "+a)
}

// A copy of the database gets its name: its tables have the same numbers, and the same pulse.
func TestRenamedDatabase(t *testing.T) {
	t.Parallel()
	at, err := url.Parse(pgtest.Shared(t))
	if err != nil {
		t.Fatal(err)
	}
	o := newOperator(t, at.String())
	name := fmt.Sprintf("renamed_%d", o.conn.PgConn().PID())
	o.do("CREATE DATABASE " + name)
	t.Cleanup(func() { o.do("DROP DATABASE "+name+" (FORCE)", "DROP DATABASE "+name+"_was (FORCE)") })
	at.Path = "/" + name
	s, dropped := watched(t, at.String())
	o.do("ALTER DATABASE "+name+" ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '"+name+"'",
		"CREATE DATABASE "+name+"_copy TEMPLATE "+name,
		"ALTER DATABASE "+name+" RENAME TO "+name+"_was", "ALTER DATABASE "+name+"_copy RENAME TO "+name)
	until(t, time.Minute, s.Ping) // the first attempts find their connections ended
	if dropped.Load() == 0 {
		t.Error("the node did not notice")
	}
}
