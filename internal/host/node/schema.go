package node

import (
	"context"

	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// Schema is the schema of a database.
type Schema struct {
	m    *migration.Migrator
	done func() error
}

// OpenSchema opens the schema of a database. Migrations need write, which locks a SQLite file against other
// processes until Close.
func OpenSchema(dsn string, write bool) (*Schema, error) {
	m, done, err := openMigrator(dsn, write)
	if err != nil {
		return nil, local.ToError(err)
	}
	return &Schema{m, done}, nil
}

func openMigrator(dsn string, write bool) (*migration.Migrator, func() error, error) {
	kind, what, err := locate(dsn)
	if err != nil {
		return nil, nil, err
	}
	switch kind {
	case inMemory:
		return nil, nil, task.Errorf(task.Invalid, "a store in memory has no schema that would need migrating")
	case onServer:
		s, err := server()
		if err != nil {
			return nil, nil, err
		}
		return s.Migrator(what)
	default:
		return sqlite.Migrator(what, write)
	}
}

// Status compares the database with this binary.
func (s *Schema) Status(ctx context.Context) ([]migration.Status, error) {
	list, err := s.m.Status(ctx)
	return list, local.ToError(err)
}

// Check refuses a database whose schema this binary must not change.
func (s *Schema) Check(list []migration.Status) error { return local.ToError(migration.Check(list)) }

// Up applies the pending migrations and returns them. It blocks during another process's migration.
func (s *Schema) Up(ctx context.Context) ([]migration.File, error) {
	files, err := s.m.Up(ctx)
	return files, local.ToError(err)
}

// Close closes the connections.
func (s *Schema) Close() error { return s.done() }
