package migration

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Mode selects the handling of an outdated schema.
type Mode string

// The modes.
const (
	Auto  Mode = "auto"  // migrate; "" means that too
	Never Mode = "never" // refuse
)

// Migrator migrates one database. It is safe for concurrent use.
// It keeps no state between calls.
type Migrator struct {
	db      *sql.DB
	files   []File
	dialect Dialect
}

// New returns a Migrator to the last of files. The database stays the caller's.
func New(db *sql.DB, files []File, d Dialect) *Migrator {
	return &Migrator{db: db, files: files, dialect: d}
}

// Ensure makes sure that the schema is this binary's, by migrating or, with
// Never, by refusing. The error is a *task.Error: Conflict as of Check, or Invalid
// when migrations are pending that may not be applied.
func (m *Migrator) Ensure(ctx context.Context, mode Mode) error {
	if mode != Never {
		_, err := m.Up(ctx)
		return err
	}
	list, err := m.Status(ctx)
	if err != nil {
		return err
	}
	return Refuse(list)
}

// Refuse returns the error of mode Never for a database, nil when its schema is this binary's.
func Refuse(list []Status) error {
	if err := Check(list); err != nil {
		return err
	}
	pending := PendingFiles(list)
	if len(pending) == 0 {
		return nil
	}
	names := make([]string, len(pending))
	for i, f := range pending {
		names[i] = f.Name
	}
	return &task.Error{Code: task.Invalid,
		Message: "the schema of the database is older than this binary, and db.migrate=never: pending are " +
			strings.Join(names, ", "),
		Hint: "run tasker migrate up with the same database, or start with --migrate=auto"}
}

// Up applies what is pending, each version in its own transaction, and returns
// what it applied itself. It blocks while another process migrates. A database
// that Check refuses is left as it is.
func (m *Migrator) Up(ctx context.Context) ([]File, error) {
	list, err := m.Status(ctx)
	if err != nil {
		return nil, err
	}
	if err := Check(list); err != nil {
		return nil, err
	}
	if len(PendingFiles(list)) == 0 {
		return nil, nil // the usual start: no process has to wait
	}
	var done []File
	err = m.dialect.locked(ctx, m.db, func() error {
		done, err = m.up(ctx)
		return err
	})
	if err != nil {
		return done, fmt.Errorf("migrate: %w", err)
	}
	return done, nil
}

// up applies the migrations. No other process does so meanwhile, but one may have done so before.
// The list is read again, because another process may have migrated while this one waited for the lock.
func (m *Migrator) up(ctx context.Context) ([]File, error) {
	list, err := m.Status(ctx)
	if err != nil {
		return nil, err
	}
	if err := Check(list); err != nil {
		return nil, err
	}
	var done []File
	for _, f := range PendingFiles(list) {
		if err := m.apply(ctx, f); err != nil {
			return done, fmt.Errorf("apply %s, which was rolled back: %w", f.Name, err)
		}
		done = append(done, f)
	}
	return done, nil
}

// apply applies a version and records it, in one transaction.
// Both drivers take all statements at once: a new database needs one round trip and not one for each table.
func (m *Migrator) apply(ctx context.Context, f File) error {
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if m.dialect.before != "" {
		if _, err := tx.ExecContext(ctx, m.dialect.before); err != nil {
			return err
		}
	}
	if f.Version == 1 {
		if err := m.dialect.createTable(ctx, tx); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, f.SQL); err != nil {
		return err
	}
	if err := m.dialect.insert(ctx, tx, f); err != nil {
		return err
	}
	return tx.Commit()
}
