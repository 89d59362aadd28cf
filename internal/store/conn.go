package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/nesting"
)

// Conn runs portable SQL, on a pool or inside a transaction, with placeholders $1, $2 and so on. An error has a code of
// package task where the engine can act on it, such as a lost connection; others are internal.
type Conn interface {
	// Exec runs a statement and returns the number of affected rows.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// Send runs a statement without waiting for the outcome. Inside a transaction it may wait until the next query, or
	// the commit, which then fails instead.
	Send(ctx context.Context, query string, args ...any) error
	// Query calls each with every row in order. The Row is valid during the call. An error of each ends the query and
	// is returned unchanged. each must not run another statement on the same Conn.
	Query(ctx context.Context, query string, args []any, each func(Row) error) error
}

// Row is one row of a result. Its values must be scanned in the order of the columns. Scan may be called again for the
// same row; see scan.
type Row interface {
	Scan(dest ...any) error
}

// Dialect is the engine-specific part of portable SQL.
type Dialect struct {
	// ID converts an ID to the engine's value: the sequence, an integer, in SQLite; all 16 bytes in PostgreSQL.
	ID func(task.ID) any
	// ScanID returns a destination for Scan that sets the ID.
	ScanID func(*task.ID) sql.Scanner
	// StateColumn names the column of tasks whose index, after def_id, finds those in a state; "" without an index.
	// Defaults to state.
	StateColumn func(task.State) string
	// Lock ends a query whose rows are locked until the end of the transaction; "" with a single writer.
	Lock string
	// Arrays: a []any is an argument too, a list of one type. Otherwise a statement with thousands of arguments has ?
	// for each: SQLite's time for numbered ones grows with the square of their number.
	Arrays bool
	// Contains is a condition: the bytes of a column contain those of an argument.
	Contains func(column, arg string) string
}

// SQL is portable SQL on one connection. It is as safe for concurrent use as its Conn.
type SQL struct {
	Conn
	Dialect
}

func (s SQL) id(id task.ID) any { return s.Dialect.ID(id) }

// jsonText encodes a value for a JSON column; nil stays NULL. An error is a bug: all stored types can be encoded.
func jsonText(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode JSON column: %w", err)
	}
	return string(b), nil
}

// Text is a nullable text column; NULL is "".
type Text string

// Scan implements sql.Scanner. Drivers return texts as string or bytes; any other type is damage of the row.
func (t *Text) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*t = ""
	case string:
		*t = Text(v)
	case []byte:
		*t = Text(v)
	default:
		return fmt.Errorf("a text column holds %T", v)
	}
	return nil
}

// JSON is a nullable JSON column; NULL is nil.
type JSON []byte

// Scan implements sql.Scanner with its own copy: a driver may reuse its bytes. It does not parse the text, so damaged
// JSON is found on use.
func (j *JSON) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*j = nil
	case string:
		*j = JSON(v)
	case []byte:
		*j = append(make(JSON, 0, len(v)), v...)
	default:
		return fmt.Errorf("a JSON column holds %T", v)
	}
	return nil
}

func (j JSON) into(dst any) error {
	if j == nil {
		return nil
	}
	if err := json.Unmarshal(j, dst); err != nil {
		return fmt.Errorf("decode JSON column: %w", err)
	}
	return nil
}

// Pool is a Conn on a database/sql pool. Each statement is its own transaction. SQLite reads through it.
type Pool struct {
	DB *sql.DB
	// Prepared keeps queries prepared; nil prepares each separately.
	Prepared *Prepared
	// Classify turns the engine's error into one with a code.
	Classify func(error) error
}

// Exec implements Conn.
func (p Pool) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := nesting.Check(ctx); err != nil {
		return 0, err
	}
	r, err := p.DB.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, p.Classify(err)
	}
	n, err := r.RowsAffected()
	return n, p.Classify(err)
}

// Send implements Conn. Outside of a transaction it is Exec.
func (p Pool) Send(ctx context.Context, query string, args ...any) error {
	_, err := p.Exec(ctx, query, args...)
	return err
}

// Query implements Conn.
func (p Pool) Query(ctx context.Context, query string, args []any, each func(Row) error) error {
	if err := nesting.Check(ctx); err != nil {
		return err
	}
	rows, err := p.rows(ctx, query, args)
	if err != nil {
		return p.Classify(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return p.Classify(rows.Err())
}

// rows runs a query. The caller closes the rows.
func (p Pool) rows(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if p.Prepared == nil {
		return p.DB.QueryContext(ctx, query, args...)
	}
	return p.Prepared.query(ctx, query, args)
}
