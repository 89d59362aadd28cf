package migration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

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
	dir     fs.FS
	files   []File
	dialect Dialect
}

// New returns a Migrator with the list in dir. The database stays the caller's.
func New(db *sql.DB, dir fs.FS, d Dialect) (*Migrator, error) {
	files, err := Files(dir)
	if err != nil {
		return nil, err
	}
	return &Migrator{db: db, dir: dir, files: files, dialect: d}, nil
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

// Up applies what is pending, each file in a transaction of its own, and returns
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
	if len(PendingFiles(list)) == 0 && !unsigned(list) {
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

// unsigned reports whether something was applied before checksums were kept.
func unsigned(list []Status) bool {
	for _, s := range list {
		if s.State == Applied && !s.signed {
			return true
		}
	}
	return false
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
	if err := m.adopt(ctx, list); err != nil {
		return nil, fmt.Errorf("write down checksums: %w", err)
	}
	if len(PendingFiles(list)) == 0 {
		return nil, nil
	}
	inner, err := database.NewStore(m.dialect.goose, m.dialect.table(versionTable))
	if err != nil {
		return nil, err
	}
	b := &book{Store: inner, dialect: m.dialect, files: m.files, now: time.Now}
	p, err := goose.NewProvider(goose.DialectCustom, m.db, beginWith{m.dir, m.dialect.before}, goose.WithStore(b),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return nil, err
	}
	results, err := p.Up(ctx)
	var partial *goose.PartialError
	if errors.As(err, &partial) {
		// goose's text names neither the file nor what to do.
		results, err = partial.Applied, fmt.Errorf("apply %s, which was rolled back: %w", partial.Failed.Source.Path,
			partial.Err)
	}
	done := make([]File, len(results))
	for i, r := range results {
		done[i] = m.files[r.Source.Version-1]
	}
	return done, err
}
