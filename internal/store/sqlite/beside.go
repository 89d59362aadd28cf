package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// WriteBeside is Write with statements of the caller on its own tables: own runs first, in the same transaction, which
// no other write shares: only this write pays for own's acts. If either fails, neither has an effect. An error of own
// is in the chain of the error. Invalid: own has ended the transaction.
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

// lend calls own with the writer's open transaction. The savepoint shows whether own has ended it.
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

// lent is the writer's connection for one use through database/sql. The transaction and the connection stay open. Like
// conn it ignores contexts: an interrupted statement would roll back the whole batch.
type lent struct{ c driver.Conn }

func (l lent) Connect(context.Context) (driver.Conn, error) { return l, nil }

// Driver implements driver.Connector. database/sql calls it for DB.Driver only.
func (l lent) Driver() driver.Driver { return nil }

func (l lent) Prepare(query string) (driver.Stmt, error) { return l.c.Prepare(query) }

func (l lent) Close() error { return nil }

func (l lent) Begin() (driver.Tx, error) { return l, nil }

func (l lent) Commit() error { return nil }

func (l lent) Rollback() error { return nil }

func (l lent) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return l.c.(driver.ExecerContext).ExecContext(context.Background(), query, args)
}

func (l lent) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return l.c.(driver.QueryerContext).QueryContext(context.Background(), query, args)
}
