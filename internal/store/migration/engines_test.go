package migration_test

import (
	"database/sql"
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5/stdlib"

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
	shipped func() (fs.FS, error)    // the list of the store
}

// migrator returns a Migrator on connections of its own, as another process has.
func (p place) migrator(t *testing.T, dir fs.FS) *migration.Migrator {
	t.Helper()
	m, err := migration.New(p.open(t), dir, p.dialect)
	if err != nil {
		t.Fatal(err)
	}
	return m
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

const (
	first  = "-- +goose Up\nCREATE TABLE fruit (name text PRIMARY KEY);\n"
	second = "-- +goose Up\nALTER TABLE fruit ADD COLUMN colour text;\nUPDATE fruit SET colour = 'green';\n"
	third  = "-- +goose Up\nCREATE INDEX fruit_by_colour ON fruit (colour);\n"
	broken = "-- +goose Up\nCREATE TABLE half (a int);\nINSERT INTO nowhere VALUES (1);\n"
)

// list is a directory of migrations with these texts.
func list(texts ...string) fstest.MapFS {
	names := []string{"0001_first.sql", "0002_second.sql", "0003_third.sql"}
	dir := fstest.MapFS{}
	for i, text := range texts {
		dir[names[i]] = &fstest.MapFile{Data: []byte(text)}
	}
	return dir
}
