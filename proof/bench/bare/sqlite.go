package bare

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	_ "modernc.org/sqlite" // the driver that Tasker has

	"github.com/taskerhq/tasker/proof/bench/compare"
)

// sqliteTable has Tasker's settings: a log that every commit syncs.
type sqliteTable struct {
	db *sql.DB

	mu                  sync.Mutex // one writer
	add, finish, choose *sql.Stmt
}

// OpenSQLite makes the table in a new file of a directory.
func OpenSQLite(ctx context.Context, dir string) (compare.Queue, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+
		"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=cache_size(-65536)&_pragma=wal_autocheckpoint(4000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	t := &sqliteTable{db: db}
	if err := t.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return newQueue(t), nil
}

func (t *sqliteTable) prepare(ctx context.Context) error {
	if _, err := t.db.ExecContext(ctx, `CREATE TABLE jobs (id INTEGER PRIMARY KEY, state INTEGER NOT NULL,
 body TEXT NOT NULL);
CREATE INDEX ready ON jobs (id) WHERE state = 0`); err != nil {
		return fmt.Errorf("make the table: %w", err)
	}
	for query, stmt := range map[string]**sql.Stmt{
		`INSERT INTO jobs (state, body) VALUES (0, ?)`:          &t.add,
		`UPDATE jobs SET state = ?2 WHERE id = ?1`:              &t.finish,
		`SELECT id, body FROM jobs WHERE state = 0 ORDER BY id`: &t.choose,
	} {
		var err error
		if *stmt, err = t.db.PrepareContext(ctx, query); err != nil { //nolint:sqlclosecheck // close does
			return err
		}
	}
	return nil
}

func (t *sqliteTable) within(ctx context.Context, do func(tx *sql.Tx) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (t *sqliteTable) insert(ctx context.Context, bodies [][]byte) error {
	return t.within(ctx, func(tx *sql.Tx) error {
		add := tx.StmtContext(ctx, t.add) //nolint:sqlclosecheck // ends with tx
		for _, b := range bodies {
			if _, err := add.ExecContext(ctx, string(b)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *sqliteTable) turn(ctx context.Context, done []int64, n int) (claimed []int64, err error) {
	err = t.within(ctx, func(tx *sql.Tx) error {
		finish := tx.StmtContext(ctx, t.finish) //nolint:sqlclosecheck // ends with tx
		for _, id := range done {
			if _, err := finish.ExecContext(ctx, id, 2); err != nil {
				return err
			}
		}
		if claimed, err = t.next(ctx, tx, n); err != nil {
			return err
		}
		for _, id := range claimed {
			if _, err := finish.ExecContext(ctx, id, 1); err != nil {
				return err
			}
		}
		return nil
	})
	return claimed, err
}

func (t *sqliteTable) next(ctx context.Context, tx *sql.Tx, n int) (ids []int64, err error) {
	if n == 0 {
		return nil, nil
	}
	rows, err := tx.StmtContext(ctx, t.choose).QueryContext(ctx) //nolint:sqlclosecheck // ends with tx
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for len(ids) < n && rows.Next() {
		var id int64
		var body string
		if err := rows.Scan(&id, &body); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (t *sqliteTable) count(ctx context.Context) (done, others int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = t.db.QueryRowContext(ctx, `SELECT coalesce(sum(state = 2), 0), coalesce(sum(state <> 2), 0) FROM jobs`).
		Scan(&done, &others)
	return done, others, err
}

func (t *sqliteTable) close() error {
	return errors.Join(t.add.Close(), t.finish.Close(), t.choose.Close(), t.db.Close())
}
