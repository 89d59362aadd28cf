package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/taskerhq/tasker/internal/store/migration"
)

//go:embed schema/*.sql
var schema embed.FS

// Migrations returns the versions of this store's schema, which are part of the binary.
func Migrations() ([]migration.File, error) {
	dir, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, err
	}
	return migration.Files(dir, "database", "tasks", "workers", "flow", "holds", "schedules", "cases", "letters", "groups",
		"redrives", "audit", "sessions", "views")
}

// Migrator returns a migrator for a file and a function that closes it. Reading is allowed while another process has
// the file open, and does not create a file; writing creates the file with its directory, and locks it until it is
// closed.
func Migrator(path string, write bool) (*migration.Migrator, func() error, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", path, err)
	}
	if !write {
		return migrator(path, false)
	}
	lock, err := takeFile(path, true)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", path, err)
	}
	m, done, err := migrator(path, true)
	if err != nil {
		lock.release()
		return nil, nil, err
	}
	return m, func() error {
		defer lock.release()
		return done()
	}, nil
}

// migrator opens a file for a migrator. Without write it opens read-only.
func migrator(path string, write bool) (*migration.Migrator, func() error, error) {
	files, err := Migrations()
	if err != nil {
		return nil, nil, err
	}
	name := dsn(path, writerPragmas)
	switch _, err := os.Stat(path); {
	case write:
	case errors.Is(err, fs.ErrNotExist):
		name = ":memory:" // opening the file would create it; an empty database has the same schema
	default:
		name = dsn(path, readerPragmas)
	}
	return migratorOf(name, files)
}

// migratorOf opens a migrator on the driver's name of a database.
func migratorOf(name string, files []migration.File) (*migration.Migrator, func() error, error) {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, nil, err
	}
	// With :memory: every connection would be its own database.
	db.SetMaxOpenConns(1)
	return migration.New(db, files, migration.SQLite()), db.Close, nil
}

// migrate brings the schema to that of this binary, or fails if mode forbids it. The caller
// holds the lock of the file.
func migrate(ctx context.Context, path string, mode migration.Mode) error {
	m, done, err := migrator(path, mode != migration.Never)
	if err != nil {
		return err
	}
	return errors.Join(m.Ensure(ctx, mode), done())
}

// fill gives a new database in memory the schema of this binary.
func fill(ctx context.Context, name string) error {
	files, err := Migrations()
	if err != nil {
		return err
	}
	m, done, err := migratorOf(name, files)
	if err != nil {
		return err
	}
	return errors.Join(m.Ensure(ctx, migration.Auto), done())
}
