package migration

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Dialect is the difference between database engines.
type Dialect struct {
	// prefix precedes the name of a table.
	prefix string
	// before is a statement that each version begins with; "" is none.
	before string
	// check fails when the server cannot be used; nil is none.
	check func(ctx context.Context, db *sql.DB) error
	// count counts, where our tables are, those that bear our names, and among them the table of versions, provided that
	// it has the columns of today. args are its arguments.
	count string
	args  []any
	// locked calls do while no other process migrates this database.
	locked func(ctx context.Context, db *sql.DB, do func() error) error
}

// SQLite returns the dialect of a SQLite file. The caller keeps other processes away from the
// file.
func SQLite() Dialect {
	return Dialect{
		count: `SELECT count(*), count(*) FILTER (WHERE name = 'tasker_migrations'
  AND EXISTS (SELECT 1 FROM pragma_table_info('tasker_migrations') WHERE name = 'sha256'))
 FROM sqlite_master WHERE type = 'table' AND name LIKE 'tasker\_%' ESCAPE '\'`,
		locked: func(_ context.Context, _ *sql.DB, do func() error) error { return do() },
	}
}

// Postgres returns the dialect of a schema, which Up creates if it is missing; "" is the first
// schema of the search_path. The name must consist of letters, digits and _. It uses two
// connections and leaves no session state on them, so it works through a pooler.
// The name is put into statements, so it must have been checked (see ParseDSN of package postgres).
func Postgres(schema string) Dialect {
	d := Dialect{
		count: `SELECT count(DISTINCT c.oid), count(*) FILTER (WHERE c.relname = 'tasker_migrations' AND a.attname = 'sha256')
 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = coalesce(nullif($1::text, ''), current_schema()) AND c.relkind IN ('r', 'p')
  AND c.relname LIKE 'tasker\_%'`,
		args: []any{schema},
		locked: func(ctx context.Context, db *sql.DB, do func() error) error {
			return postgresLocked(ctx, db, schema, do)
		},
	}
	if schema != "" {
		d.prefix = `"` + schema + `".`
		d.before = `SET LOCAL search_path = "` + schema + `";`
	}
	return d
}

// WithCheck returns the dialect with a function that is called before any other statement, for
// example to refuse an old server. Its error is returned to the caller.
func (d Dialect) WithCheck(check func(ctx context.Context, db *sql.DB) error) Dialect {
	d.check = check
	return d
}

// table is the qualified name of the table of versions.
func (d Dialect) table() string { return d.prefix + versionTable }

const (
	lockInterval = 100 * time.Millisecond
	lockPatience = 10 * time.Minute // the longest migration of another process
)

// postgresLocked calls do while it holds an advisory lock in its own transaction, because
// a session's lock does not survive a pooler. It polls for the lock instead of waiting in the
// server: a waiting statement holds a snapshot, for which CREATE INDEX CONCURRENTLY of the
// lock's owner would wait in turn.
func postgresLocked(ctx context.Context, db *sql.DB, schema string, do func() error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to keep; it lets go of the lock
	if _, err := tx.ExecContext(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
		return err
	}
	name := schema
	if name == "" {
		var current sql.NullString
		if err := tx.QueryRowContext(ctx, `SELECT current_schema()`).Scan(&current); err != nil {
			return err
		}
		if name = current.String; name == "" {
			return &task.Error{Code: task.Invalid, Message: "no schema of the role's search_path exists",
				Hint: "create it, or name one in the DSN with schema=NAME"}
		}
	}
	if err := await(ctx, tx, lockKey(name)); err != nil {
		return err
	}
	if schema != "" {
		if _, err := db.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS "`+schema+`"`); err != nil {
			return fmt.Errorf("create schema %s: %w", schema, err)
		}
	}
	return do()
}

// lockKey returns the number of the lock of a schema.
// Two schemas of one database have different locks and can be migrated at the same time.
func lockKey(schema string) int64 {
	sum := sha256.Sum256([]byte("tasker migrations of " + schema))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// await polls for a lock every 100 ms and returns Unavailable after lockPatience.
func await(ctx context.Context, tx *sql.Tx, key int64) error {
	late := time.NewTimer(lockPatience)
	defer late.Stop()
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for {
		var ours bool
		if err := tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock($1)`, key).Scan(&ours); err != nil || ours {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			return &task.Error{Code: task.Unavailable,
				Message: fmt.Sprintf("another process has been migrating this database for %s", lockPatience),
				Hint:    "look for it in pg_stat_activity; it holds an advisory lock (pg_locks)"}
		}
	}
}
