package pgtest_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

func open(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), withoutOurs(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	if schema := schemaOf(t, dsn); schema != "" {
		run(t, conn, "SET search_path = "+schema)
	}
	return conn
}

func withoutOurs(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Del("schema")
	q.Del("pgbouncer")
	u.RawQuery = q.Encode()
	return u.String()
}

func schemaOf(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("schema")
}

func run(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func ask[T comparable](t *testing.T, conn *pgx.Conn, query string, want T, args ...any) {
	t.Helper()
	var got T
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&got); err != nil || got != want {
		t.Errorf("%s: %v, %v; want %v", query, got, err, want)
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	outside := open(t, pgtest.DSN(t))
	const schemas, named = `SELECT count(*) FROM pg_namespace WHERE nspname = ANY($1)`,
		`SELECT count(*) FROM pg_class WHERE relname = 'here_only'`
	var names []string
	t.Run("Apart", func(t *testing.T) {
		for range 2 {
			conn := open(t, pgtest.DSN(t))
			ask(t, conn, named, 0)
			var name string
			if err := conn.QueryRow(t.Context(), "SELECT current_schema()").Scan(&name); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		run(t, open(t, pgtest.DSN(t)), "CREATE TABLE here_only (x int)")
		ask(t, outside, schemas, 2, names)
		ask(t, outside, named, 1)
	})
	t.Run("DroppedWithTheTest", func(t *testing.T) {
		ask(t, outside, schemas, 0, names)
		ask(t, outside, named, 0)
	})
}

// The order of words is one on which no code can rely by chance.
func TestOrderOfWords(t *testing.T) {
	t.Parallel()
	conn := open(t, pgtest.Start(t, "fsync=off").DSN())
	ask(t, conn, `SELECT 'a' < 'B'`, true)
	ask(t, conn, `SELECT 'a' < 'B' COLLATE "C"`, false)
}
