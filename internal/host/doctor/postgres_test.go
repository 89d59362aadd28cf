package doctor_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/host/doctor"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/worker/protocol"
)

var update = flag.Bool("update", false, "rewrite postgres_indexes.sql")

var registration = protocol.WorkerRegistration{Name: "w"}

func newSchema(t *testing.T, server string) string {
	t.Helper()
	dsn := pgtest.Schema(t, server)
	fill(t, dsn)
	return dsn
}

// TestExpectedIndexes compares the list of indexes with the migrations.
func TestExpectedIndexes(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	fill(t, dsn)
	rows, err := connect(t, dsn).QueryContext(t.Context(),
		`SELECT replace(indexdef, ' ON ' || quote_ident(schemaname) || '.', ' ON ') FROM pg_indexes
 WHERE schemaname = current_schema() AND tablename LIKE 'tasker\_%' ORDER BY indexname`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var made strings.Builder
	for rows.Next() {
		var definition string
		if err := rows.Scan(&definition); err != nil {
			t.Fatal(err)
		}
		made.WriteString(definition + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("postgres_indexes.sql", []byte(made.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile("postgres_indexes.sql")
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != made.String() {
		t.Errorf("the migrations make\n%s\nbut doctor expects\n%s\nRun go test ./internal/host/doctor -update.",
			made.String(),
			kept)
	}
}

// TestProduction examines a healthy server, directly and through PgBouncer, and then with obstacles to vacuum.
func TestProduction(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "max_prepared_transactions=2")
	dsn := newSchema(t, server.DSN())
	s, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if ok, err := s.Turn(t.Context(), "timers", time.Hour); err != nil || !ok {
		t.Fatalf("the turn was answered %v, %v", ok, err)
	}
	bouncer := pgtest.PgBouncer(t, server.DSN())
	_, params, _ := strings.Cut(dsn, "?")
	for name, at := range map[string]string{"Directly": dsn, "PgBouncer": bouncer + "&" + params} {
		r := examine(t, at, doctor.Options{})
		if r.Status != doctor.OK || len(r.Checks) < 19 {
			t.Errorf("%s: a healthy database is %s:\n%s", name, r.Status, show(r))
		}
		wantCheck(t, r, "turns", doctor.OK, "has timers")
	}

	strict := doctor.Options{Limits: doctor.Limits{Transaction: time.Microsecond}}
	execute(t, dsn, `SELECT pg_create_physical_replication_slot('standby', true)`)
	db := connect(t, dsn)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{`BEGIN`, `INSERT INTO tasker_meta (key, value) VALUES ('a', 'b')`,
		`PREPARE TRANSACTION 'forgotten'`, `BEGIN`, `INSERT INTO tasker_meta (key, value) VALUES ('c', 'd')`} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	r := examine(t, dsn, strict)
	wantCheck(t, r, "transactions", doctor.Fail, "idle in transaction")
	wantCheck(t, r, "prepared_transactions", doctor.Fail, "the prepared transaction forgotten of")
	wantCheck(t, r, "replication_slots", doctor.Warn, "slot standby is unused")
	for _, statement := range []string{`ROLLBACK`, `ROLLBACK PREPARED 'forgotten'`} { // so that the schema can be dropped
		if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDangerousServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off",
		"track_counts=off", "track_activities=off",
		"default_transaction_isolation=serializable", "statement_timeout=4000", "max_connections=7",
		"superuser_reserved_connections=3")
	r := examine(t, pgtest.Schema(t, server.DSN()), doctor.Options{})
	for _, name := range []string{"fsync", "full_page_writes", "synchronous_commit", "autovacuum", "track_counts"} {
		wantCheck(t, r, "settings", doctor.Fail, name+" is off: ")
	}
	wantCheck(t, r, "settings", doctor.Warn, "track_activities is off")
	wantCheck(t, r, "settings", doctor.Warn, "default_transaction_isolation is serializable")
	wantCheck(t, r, "settings", doctor.Warn, "statement_timeout is 4000")
	wantCheck(t, r, "connections", doctor.Warn, "of 4 connections are in use")
	wantCheck(t, r, "schema", doctor.Fail, "there are no tables of Tasker here")
}

func TestBrokenSchema(t *testing.T) {
	t.Parallel()
	little := doctor.Limits{WasteBytes: 256 << 10, DeadRows: 10}
	cases := append([]broken{
		{name: "NoServer", check: "turns", status: doctor.Warn, says: "no server uses this database, and none ever was"},
		{name: "ServerGone",
			statements: []string{
				`INSERT INTO tasker_turns (loop, node, taken_at, held_until) VALUES ('timers', gen_random_uuid(), 1, 2)`},
			check: "turns", status: doctor.Warn, says: "the last one was"},
		{name: "AutovacuumOff", statements: []string{`ALTER TABLE tasker_tasks SET (autovacuum_enabled = false)`},
			check: "autovacuum", status: doctor.Fail, says: "off for tasker_tasks"},
		{name: "Bloated", statements: []string{
			`INSERT INTO tasker_task_events (task_id, at, from_state, to_state, cause) SELECT gen_random_uuid(), i, 'pending', 'complete', repeat('x', 50) FROM generate_series(1, 30000) AS i`,
			`DELETE FROM tasker_task_events WHERE at % 100 <> 0`, `VACUUM ANALYZE tasker_task_events`,
		}, check: "table_bloat", status: doctor.Warn, says: "table tasker_task_events takes", limits: little},
		{name: "BloatedIndex", statements: []string{
			`INSERT INTO tasker_task_events (task_id, at, from_state, to_state, cause) SELECT gen_random_uuid(), i, 'pending', 'complete', '' FROM generate_series(1, 30000) AS i`,
			`DELETE FROM tasker_task_events WHERE at % 100 <> 0`, `VACUUM ANALYZE tasker_task_events`,
		}, check: "index_bloat", status: doctor.Warn, says: "index tasker_task_events_by_task takes", limits: little},
		{name: "NotBloated", statements: []string{
			`INSERT INTO tasker_task_events (task_id, at, from_state, to_state, cause) SELECT gen_random_uuid(), i, 'pending', 'complete', repeat('x', 50) FROM generate_series(1, 30000) AS i`,
			`VACUUM ANALYZE tasker_task_events`,
		}, check: "table_bloat", status: doctor.OK, says: "hold nothing", limits: little},
		{name: "DeadRows", statements: []string{
			`INSERT INTO tasker_task_tags (tag, task_id) SELECT 'x', gen_random_uuid() FROM generate_series(1, 30)`,
			`DELETE FROM tasker_task_tags`,
		}, check: "dead_rows", status: doctor.Warn,
			says: "tasker_task_tags has 30 dead rows beside 0 live ones; it was never vacuumed", limits: little},
	}, theWork...)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			open := postgrestest.DSN
			if tc.limits == little || slices.ContainsFunc(tc.statements, redefines) { // nobody else may have the schema
				open = func(t testing.TB) string { return pgtest.DSN(t) }
			}
			dsn := open(t)
			fill(t, dsn)
			execute(t, dsn, tc.statements...)
			r := examine(t, dsn, doctor.Options{Limits: tc.limits})
			wantCheck(t, r, tc.check, tc.status, tc.says)
		})
	}
}

func redefines(statement string) bool {
	return slices.ContainsFunc([]string{"ALTER ", "CREATE ", "DROP ", "tasker_migrations"}, func(word string) bool {
		return strings.Contains(statement, word)
	})
}

// A concurrent build met a violation.
func TestInvalidIndex(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	fill(t, dsn)
	execute(t, dsn, `DROP INDEX tasker_workflow_steps_queue`)
	if _, err := connect(t, dsn).ExecContext(t.Context(),
		`CREATE UNIQUE INDEX CONCURRENTLY tasker_workflow_steps_queue ON tasker_workflow_steps (max_attempts)`); err == nil {
		t.Fatal("the index could be built")
	}
	wantCheck(t, examine(t, dsn, doctor.Options{}), "indexes", doctor.Fail, "index tasker_workflow_steps_queue is invalid")
}

func TestClocksApart(t *testing.T) {
	t.Parallel()
	r := examine(t, pgtest.DSN(t), doctor.Options{Now: func() time.Time { return time.Now().Add(-time.Hour) }})
	wantCheck(t, r, "clock", doctor.Warn, "ahead of this machine's")
	r = examine(t, pgtest.DSN(t), doctor.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	wantCheck(t, r, "clock", doctor.Warn, "behind this machine's")
}

// TestDoubtedClock finds a node that distrusts the database's clock, but not an ended one.
func TestDoubtedClock(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	fill(t, dsn)
	wantCheck(t, examine(t, dsn, doctor.Options{}), "clock_step", doctor.OK, "no node doubts")
	for _, c := range []struct {
		ago  time.Duration
		want doctor.Status
		says string
	}{
		{5 * time.Second, doctor.Fail, "the database's clock is 1h0m ahead of the time of the nodes"},
		{time.Minute, doctor.OK, "no node doubts"},
	} {
		execute(t, dsn, fmt.Sprintf(`INSERT INTO tasker_meta (key, value) VALUES ('pulse a', '{"at": %d, "ahead": %d}')
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
			time.Now().Add(-time.Hour-c.ago).UnixMicro(), time.Hour.Microseconds()))
		wantCheck(t, examine(t, dsn, doctor.Options{}), "clock_step", c.want, c.says)
	}
}

// TestTimeout: a check that waits for a lock times out, and the others run.
func TestTimeout(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	fill(t, dsn)
	tx, err := connect(t, dsn).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), `LOCK TABLE tasker_routes`); err != nil {
		t.Fatal(err)
	}
	r := examine(t, dsn, doctor.Options{Timeout: 500 * time.Millisecond})
	wantCheck(t, r, "routes", doctor.Warn, "could not be looked at")
	wantCheck(t, r, "leases", doctor.OK, "")
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	wantRefusal(t, "postgres://tasker@127.0.0.1:1/tasker", task.Unavailable, "does not answer")
	wantRefusal(t, "postgres://tasker@127.0.0.1:1/tasker?pgbouncer=maybe", task.Invalid, "pgbouncer")
	dsn := pgtest.DSN(t)
	wantRefusal(t, strings.Replace(dsn, "?", "_none?", 1), task.Invalid, "does not exist")
}
