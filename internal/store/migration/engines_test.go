package migration_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5/stdlib"

	_ "github.com/taskerhq/tasker/embedded/postgres"

	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// place is an empty database that can be connected to several times.
type place struct {
	dsn     string
	dialect migration.Dialect
	catalog catalog
	open    func(t *testing.T) *sql.DB
	fresh   func(t *testing.T) place // another one like it
	shipped func() ([]migration.File, error)
}

// migrator returns a Migrator with its own connections, as another process has.
func (p place) migrator(t *testing.T, files []migration.File) *migration.Migrator {
	t.Helper()
	return migration.New(p.open(t), files, p.dialect)
}

// do runs a statement.
func (p place) do(t *testing.T, statement string) {
	t.Helper()
	if _, err := p.open(t).ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// engines are the databases that every test of a Migrator runs on.
func engines(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, onSQLite(t))
	})
	t.Run("Postgres", func(t *testing.T) {
		t.Parallel()
		test(t, onPostgres(t))
	})
}

func onSQLite(t *testing.T) place {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	return place{
		dsn: "sqlite:" + path, dialect: migration.SQLite(), catalog: sqliteCatalog, fresh: onSQLite,
		shipped: sqlite.Migrations,
		open: func(t *testing.T) *sql.DB {
			db, err := sql.Open("sqlite", "file:"+path)
			if err != nil {
				t.Fatal(err)
			}
			db.SetMaxOpenConns(1)
			t.Cleanup(func() { _ = db.Close() })
			return db
		},
	}
}

func onPostgres(t *testing.T) place {
	t.Helper()
	return postgresAt(t, pgtest.DSN(t))
}

func postgresAt(t *testing.T, dsn string) place {
	t.Helper()
	d, err := postgres.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return place{
		dsn: dsn, dialect: migration.Postgres(d.Schema), catalog: postgresCatalog, fresh: onPostgres,
		shipped: postgres.Migrations,
		open: func(t *testing.T) *sql.DB {
			db := stdlib.OpenDB(*d.Pool.ConnConfig)
			db.SetMaxOpenConns(2)
			t.Cleanup(func() { _ = db.Close() })
			return db
		},
	}
}

// A schema that is made up, and migrations that follow it.
const (
	first  = "CREATE TABLE fruit (name text PRIMARY KEY);\n"
	second = "ALTER TABLE fruit ADD COLUMN colour text;\nUPDATE fruit SET colour = 'green';\n"
	third  = "CREATE INDEX fruit_by_colour ON fruit (colour);\n"
	broken = "CREATE TABLE half (a int);\nINSERT INTO nowhere VALUES (1);\n"
)

// list is a list of versions with these texts. The schema has one part, fruit.
func list(t *testing.T, texts ...string) []migration.File {
	t.Helper()
	names := []string{"fruit.sql", "0002_second.sql", "0003_third.sql"}
	dir := fstest.MapFS{}
	for i, text := range texts {
		dir[names[i]] = &fstest.MapFile{Data: []byte(text)}
	}
	files, err := migration.Files(dir, "fruit")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func shipped(t *testing.T, list func() ([]migration.File, error)) []migration.File {
	t.Helper()
	files, err := list()
	if err != nil {
		t.Fatal(err)
	}
	return files
}
