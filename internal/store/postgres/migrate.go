package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/taskerhq/tasker/internal/model/task"
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
		"redrives", "audit", "sessions", "views", "snapshots", "detection")
}

// oldestServer is the minimum version for the statements of this package, as PostgreSQL counts.
const oldestServer = 150000

// Migrator returns a migrator for the database of a DSN and a function that closes its connections. It does not connect
// yet.
func Migrator(d DSN) (*migration.Migrator, func() error, error) {
	files, err := Migrations()
	if err != nil {
		return nil, nil, err
	}
	cc := d.Pool.ConnConfig.Copy()
	for name := range plans {
		delete(cc.RuntimeParams, name) // a migration may need to read a whole table
	}
	db := stdlib.OpenDB(*cc)
	db.SetMaxOpenConns(2) // one holds the lock, one migrates
	return migration.New(db, files, migration.Postgres(d.Schema).WithCheck(checkServer)), db.Close, nil
}

// checkServer connects, and refuses a server that is too old, or whose sessions cannot be worked with.
func checkServer(ctx context.Context, db *sql.DB) error {
	var number int
	var encoding, client, quoting string
	const query = `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
  current_setting('client_encoding'), current_setting('standard_conforming_strings')`
	if err := db.QueryRowContext(ctx, query).Scan(&number, &encoding, &client, &quoting); err != nil {
		return connectError(ctx, err)
	}
	refuse := func(hint, format string, args ...any) error {
		return &task.Error{Code: task.Invalid, Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	switch {
	case number < oldestServer:
		return refuse("", "the server is PostgreSQL %d.%d; Tasker needs %d or newer", number/10000, number%10000,
			oldestServer/10000)
	case client != utf8 && encoding != utf8:
		return refuse("create a database with ENCODING 'UTF8' TEMPLATE template0, and name it in the DSN",
			"the database is encoded in %s, which cannot keep every text", encoding)
	case client != utf8:
		return refuse("remove client_encoding from the DSN, or from the settings of the role or the database",
			"the session has client_encoding=%s; Tasker needs UTF8", client)
	case quoting != "on":
		return refuse("remove that setting from the role, the database or the server: ALTER DATABASE ... RESET "+
			"standard_conforming_strings", "standard_conforming_strings is %s; Tasker needs on, which is the default",
			quoting)
	}
	return nil
}

// utf8 is the name of the encoding in which every text can be kept.
const utf8 = "UTF8"

// connectError explains a failed connection to the operator who starts a process. pgx's text contains user, database
// and host, and no password.
// Invalid: another attempt will fail the same way. Unavailable: it may succeed later, and the start of a process waits.
func connectError(ctx context.Context, err error) error {
	var refused *pgconn.PgError
	var failed *pgconn.ConnectError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &refused) && refused.Code == codeStatementTaken:
		return poolerInBetween(err)
	case errors.As(err, &refused) && (refused.Code[:2] == "28" || refused.Code == "3D000"):
		return &task.Error{Code: task.Invalid, Message: "PostgreSQL refuses the connection: " + refused.Message,
			Hint: "check user, password and database of the DSN", Err: err}
	case errors.As(err, &failed):
		return &task.Error{Code: task.Unavailable, Message: "PostgreSQL does not answer: " + reasons(failed),
			Hint: "is it running, and does the DSN name the right host and port?", Err: err}
	}
	return err
}

// reasons lists each address's failure on one line. pgx tries an address once with TLS and once without, mostly with
// the same outcome.
func reasons(failed *pgconn.ConnectError) string {
	var lines []string
	for line := range strings.Lines(failed.Unwrap().Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// ensure brings the schema to that of this binary, or fails if mode forbids it.
// It uses its own connections, without the restrictions of plans.
func (s *Store) ensure(ctx context.Context, d DSN, mode migration.Mode) error {
	m, done, err := Migrator(d)
	if err != nil {
		return err
	}
	err = m.Ensure(ctx, mode)
	if cerr := done(); err == nil && cerr != nil {
		err = fmt.Errorf("close connections of the migration: %w", cerr)
	}
	return err
}
