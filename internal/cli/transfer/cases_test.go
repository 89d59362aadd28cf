package transfer_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	_ "github.com/taskerhq/tasker/embedded/postgres"

	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

func contextWithCut(t *testing.T) (context.Context, func()) { return context.WithCancel(t.Context()) }

func constant(dsn string) func(*testing.T) string { return func(*testing.T) string { return dsn } }

func schema(t *testing.T) string { return pgtest.DSN(t) }

func fresh(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "to.db") }

func missing(t *testing.T) string { return fresh(t) }

func one(t *testing.T) string { return filled(t, 1) }

func filledPostgres(t *testing.T) string {
	t.Helper()
	dsn := pgtest.DSN(t)
	in := install(t, openPostgres(t, dsn))
	in.fill(t, 1)
	in.close(t)
	return dsn
}

func filledPostgresTwice(t *testing.T) string {
	t.Helper()
	dsn := filledPostgres(t)
	in := install(t, openPostgres(t, dsn))
	in.fill(t, 1)
	in.close(t)
	return dsn
}

func inUse(t *testing.T) string {
	t.Helper()
	dsn := filled(t, 1)
	s := openSQLite(t, path(dsn))
	t.Cleanup(func() { _ = s.Close() })
	return dsn
}

// served is a schema with a running process.
func served(t *testing.T) string {
	t.Helper()
	dsn := pgtest.DSN(t)
	s, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if ok, err := s.Turn(t.Context(), "timers", time.Minute); err != nil || !ok {
		t.Fatalf("the turn was answered %v, %v", ok, err)
	}
	return dsn
}

func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	if file, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	d, err := postgres.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return stdlib.OpenDB(*d.Pool.ConnConfig)
}

func execute(t *testing.T, dsn, statement string) {
	t.Helper()
	db := connect(t, dsn)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func query(t *testing.T, dsn, question string) string {
	t.Helper()
	db := connect(t, dsn)
	defer db.Close()
	var answer string
	if err := db.QueryRowContext(t.Context(), question).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
