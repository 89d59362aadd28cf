package postgrestest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// look returns the rows that a new schema has, and the last ID that a sequence gave.
func look(t *testing.T, conn *pgx.Conn) (settings string, ids int) {
	t.Helper()
	const find = `SELECT (SELECT json_agg(s ORDER BY s.key)::text FROM tasker_settings s),
  (SELECT coalesce(max(last_value), 0) FROM pg_sequences WHERE schemaname = current_schema())`
	if err := conn.QueryRow(t.Context(), find).Scan(&settings, &ids); err != nil {
		t.Fatal(err)
	}
	return settings, ids
}

// checkGuarded checks that there are no acts, and that the database would keep them.
func checkGuarded(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	var acts int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM tasker_acts`).Scan(&acts); err != nil || acts > 0 {
		t.Errorf("%d acts, %v; want none", acts, err)
	}
	if _, err := conn.Exec(t.Context(), `TRUNCATE tasker_acts`); err == nil {
		t.Error("the log of acts is not guarded any more")
	}
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	d, err := postgres.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), d.Pool.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestNextTestFindsNothing runs tests in sequence, so that each may get the previous one's schema.
func TestNextTestFindsNothing(t *testing.T) {
	acts := map[string]struct {
		sql    string
		handOn bool
	}{
		"Rows": {`UPDATE tasker_settings SET value = 1;
  SELECT nextval(quote_ident(schemaname) || '.' || quote_ident(sequencename)) FROM pg_sequences WHERE schemaname = current_schema();
  INSERT INTO tasker_settings SELECT 'test.' || n, n FROM generate_series(1, 20000) n`, true},
		"Nothing": {`SELECT 1`, true},
		"Acts": {`INSERT INTO tasker_acts (at, kind, actor, reason, from_state, to_state)
  VALUES (1, 'use_key', 'ada', '', '', '')`, true},
		"Guard": {`ALTER TABLE tasker_acts DISABLE TRIGGER tasker_acts_are_kept`, false},
		"Table": {`CREATE TABLE strange (x int)`, false},
		"Trigger": {`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
  CREATE TRIGGER refusing BEFORE INSERT ON tasker_settings EXECUTE FUNCTION refuse()`, false},
	}
	var settings string
	t.Run("First", func(t *testing.T) {
		conn := connect(t, postgrestest.DSN(t))
		defer conn.Close(t.Context())
		settings, _ = look(t, conn)
	})
	for name, act := range acts {
		var before string
		t.Run(name, func(t *testing.T) {
			before = postgrestest.DSN(t)
			conn := connect(t, before)
			defer conn.Close(t.Context())
			if _, err := conn.Exec(t.Context(), act.sql); err != nil {
				t.Fatal(err)
			}
		})
		t.Run("After"+name, func(t *testing.T) {
			dsn := postgrestest.DSN(t)
			if handedOn := dsn == before; handedOn != act.handOn {
				t.Errorf("the schema of the test before is handed on: %t, want %t", handedOn, act.handOn)
			}
			conn := connect(t, dsn)
			defer conn.Close(t.Context())
			checkGuarded(t, conn)
			if got, ids := look(t, conn); ids != 0 || got != settings {
				t.Errorf("IDs begin at %d, settings are\n%s\nwant 0 and\n%s", ids, got, settings)
			}
			var strange bool
			if err := conn.QueryRow(t.Context(), `SELECT to_regclass('strange') IS NOT NULL OR to_regproc('refuse') IS NOT NULL`).
				Scan(&strange); err != nil || strange {
				t.Errorf("what a test has created is still there: %t, %v", strange, err)
			}
		})
	}
}
