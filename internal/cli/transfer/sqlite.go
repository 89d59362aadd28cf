package transfer

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// lite converts IDs, stored as sequences, with the file's seed. db writes through separate connections, while the
// store's lock keeps servers away.
type lite struct {
	db   *sql.DB
	ids  *task.Source
	seed uint64 // of ids
}

var _ dialect = (*lite)(nil)

// SQLite has two types for the four kinds; match takes the other side's narrower kind.
func (l *lite) catalog(ctx context.Context, tx *sql.Tx) ([]table, error) {
	const query = `SELECT m.name, c.name, c.type, c.pk - 1 FROM sqlite_schema m JOIN pragma_table_xinfo(m.name) c
 WHERE m.type = 'table' AND m.name LIKE 'tasker\_%' ESCAPE '\' AND c.hidden = 0 ORDER BY m.name`
	return readCatalog(ctx, tx, query, map[string]kind{"INTEGER": integers, "TEXT": texts, "BLOB": blobs})
}

// The snapshot is that of the first read.
func (l *lite) begin(ctx context.Context) (*sql.Tx, error) { return l.db.BeginTx(ctx, nil) }

func (l *lite) read(c column) string { return c.name }

func (l *lite) decode(c column, v any) (value, error) {
	switch v := v.(type) {
	case nil:
		return value{null: true}, nil
	case int64:
		switch c.kind {
		case integers:
			return value{text: strconv.FormatInt(v, 10)}, nil
		case ids:
			return value{text: l.ids.ID(v).String()}, nil
		}
	case []byte:
		if c.kind == blobs {
			return value{text: hex.EncodeToString(v)}, nil
		}
	case string:
		if c.kind == texts || c.kind == documents {
			return value{text: v}, nil
		}
	}
	return value{}, fmt.Errorf("a column of kind %s holds %T", c.kind, v)
}

func (l *lite) param(n int, _ column) string { return "?" + strconv.Itoa(n) }

// An ID that the file's seed does not rebuild is an error: its sequence would change it.
func (l *lite) encode(c column, v value) (any, error) {
	switch {
	case v.null:
		return nil, nil
	case c.kind == integers:
		return strconv.ParseInt(v.text, 10, 64)
	case c.kind == blobs:
		return hex.DecodeString(v.text)
	case c.kind == ids:
		id, err := task.ParseID(v.text)
		if err != nil {
			return nil, err
		}
		if l.ids.ID(id.Seq()) != id {
			return nil, foreignID(v.text)
		}
		return id.Seq(), nil
	}
	return v.text, nil
}

// An error rolls back all rows.
func (l *lite) insert(ctx context.Context, t *table, rows []row) (added int64, err error) {
	names, params := make([]string, len(t.columns)), make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i], params[i] = c.name, l.param(i+1, c)
	}
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // the first failure matters
		}
	}()
	stmt, err := tx.PrepareContext(ctx, "INSERT INTO "+t.name+" ("+strings.Join(names, ", ")+") VALUES ("+
		strings.Join(params, ", ")+") ON CONFLICT DO NOTHING")
	if err != nil {
		return 0, err
	}
	defer stmt.Close()
	args := make([]any, len(t.columns))
	for _, r := range rows {
		for i, c := range t.columns {
			if args[i], err = l.encode(c, r[i]); err != nil {
				return 0, fmt.Errorf("%s of (%s): %w", c.name, t.keyOf(r).name(), err)
			}
		}
		res, err := stmt.ExecContext(ctx, args...)
		if err != nil {
			return 0, fmt.Errorf("(%s): %w", t.keyOf(r).name(), err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return 0, err
		}
		added += n
	}
	return added, tx.Commit()
}

// Only AUTOINCREMENT tables have a counter; others give 0.
func (l *lite) counter(ctx context.Context, tx *sql.Tx, t *table) (int64, error) {
	return number(ctx, tx, `SELECT seq FROM sqlite_sequence WHERE name = ?1`, t.name)
}

func (l *lite) advance(ctx context.Context, t *table, to int64) error {
	// Inserting explicit numbers has raised the counter.
	_, err := l.db.ExecContext(ctx, `UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1`, t.name, to)
	if err != nil || to == 0 {
		return err
	}
	// A table without rows has no entry yet.
	const begin = `INSERT INTO sqlite_sequence (name, seq) SELECT name, ?2 FROM sqlite_schema
 WHERE type = 'table' AND name = ?1 AND sql LIKE '%AUTOINCREMENT%' AND name NOT IN (SELECT name FROM sqlite_sequence)`
	_, err = l.db.ExecContext(ctx, begin, t.name, to)
	return err
}

// settled moves the log into the file, which alone is the copy.
func (l *lite) settled(ctx context.Context, _ []table) error {
	if _, err := l.db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		return fmt.Errorf("move the log into the file: %w", err)
	}
	return nil
}

func seedOf(ctx context.Context, tx *sql.Tx) (uint64, error) {
	var text sql.NullString
	if err := one(ctx, tx, `SELECT value FROM tasker_meta WHERE key = ?1`, []any{seedKey}, &text); err != nil {
		return 0, fmt.Errorf("read the seed of IDs: %w", err)
	}
	if !text.Valid {
		return 0, errors.New("the file has no seed of IDs")
	}
	seed, err := strconv.ParseUint(text.String, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("read the seed of IDs: %w", err)
	}
	return seed, nil
}

func foreignID(id string) error {
	return &task.Error{Code: task.Conflict,
		Message: "the ID " + id +
			" was not made from the same seed as the others, and a SQLite file rebuilds its IDs from one seed",
		Hint: "each server process makes IDs from a seed of its own: only what one process has written can be copied to " +
			"SQLite; copy to PostgreSQL instead"}
}
