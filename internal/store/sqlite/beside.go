package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// WriteBeside is Write with statements of the caller on tables of its own: own runs first, in the same transaction,
// which no other write shares: whatever own does to it, only this write pays. If either fails, neither has an effect.
// An error of own is in the chain of the error. Invalid: own has ended the transaction.
func (s *Store) WriteBeside(ctx context.Context, own func(*sql.Tx) error,
	fn func(context.Context, engine.Tx) error,
) error {
	return s.write(ctx, write{alone: true, fn: func(ctx context.Context, t engine.Tx) error {
		if err := s.lend(ctx, own); err != nil {
			return err
		}
		return fn(ctx, t)
	}})
}

// lend calls own with the open transaction of the writer. The savepoint shows whether own has ended it.
func (s *Store) lend(ctx context.Context, own func(*sql.Tx) error) error {
	if _, err := s.conn.Exec(ctx, "SAVEPOINT tasker_caller"); err != nil {
		return fmt.Errorf("lend the transaction: %w", err)
	}
	db := sql.OpenDB(lent{s.conn.c})
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("lend the transaction: %w", err)
	}
	if err := own(tx); err != nil {
		_ = tx.Rollback() // only ends its statements
		return err
	}
	err = tx.Commit() // only ends its statements
	if err == nil {
		_, err = s.conn.Exec(ctx, "RELEASE tasker_caller")
	}
	if err != nil {
		return &task.Error{Code: task.Invalid, Message: "the transaction has been ended; Tasker commits it", Err: err}
	}
	return nil
}

// lent is the writer's connection for one use through database/sql. The transaction is open already and stays open, and
// so does the connection. It ignores contexts, as conn does: an interrupted statement would roll back the whole batch.
type lent struct{ c driver.Conn }

// Connect implements driver.Connector.
func (l lent) Connect(context.Context) (driver.Conn, error) { return l, nil }

// Driver implements driver.Connector. database/sql calls it for DB.Driver only.
func (l lent) Driver() driver.Driver { return nil }

// Prepare implements driver.Conn.
func (l lent) Prepare(query string) (driver.Stmt, error) { return l.c.Prepare(query) }

// Close implements driver.Conn.
func (l lent) Close() error { return nil }

// Begin implements driver.Conn.
func (l lent) Begin() (driver.Tx, error) { return l, nil }

// Commit implements driver.Tx.
func (l lent) Commit() error { return nil }

// Rollback implements driver.Tx.
func (l lent) Rollback() error { return nil }

// ExecContext implements driver.ExecerContext.
func (l lent) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return l.c.(driver.ExecerContext).ExecContext(context.Background(), query, args)
}

// QueryContext implements driver.QueryerContext.
func (l lent) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return l.c.(driver.QueryerContext).QueryContext(context.Background(), query, args)
}
