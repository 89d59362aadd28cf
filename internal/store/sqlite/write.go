package sqlite

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// Write implements engine.Store. Writes that come while one is being committed
// share the next transaction.
func (s *Store) Write(ctx context.Context, fn func(engine.Tx) error) error {
	failed, err := s.group.Do(ctx, fn)
	if err != nil {
		return err
	}
	return failed
}

// commit runs writes as one transaction. When one of them fails, all are rolled
// back and each is run again on its own, so that only the guilty one fails.
func (s *Store) commit(fns []func(engine.Tx) error) ([]error, error) {
	failed := make([]error, len(fns))
	err := s.transact(fns...)
	switch {
	case err == nil:
		return failed, nil
	case len(fns) == 1:
		failed[0] = err
		return failed, nil
	}
	for i, fn := range fns {
		failed[i] = s.transact(fn)
	}
	return failed, nil
}

func (s *Store) transact(fns ...func(engine.Tx) error) error {
	if s.closed.Load() {
		return task.Errorf(task.Unavailable, "the store is closed")
	}
	ctx := context.Background()
	if _, err := s.conn.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	s.tx.begin()
	for _, fn := range fns {
		if err := guarded(s.tx, fn); err != nil {
			return s.rollback(err)
		}
	}
	if _, err := s.conn.Exec(ctx, "COMMIT"); err != nil {
		return s.rollback(fmt.Errorf("commit: %w", err))
	}
	return nil
}

// guarded turns a panic into an error: the transaction must be rolled back.
func guarded(tx *tx, fn func(engine.Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(tx)
}

func (s *Store) rollback(cause error) error {
	s.tx.undo()
	// after some errors SQLite has rolled back by itself; then this one fails
	_, _ = s.conn.Exec(context.Background(), "ROLLBACK")
	return cause
}
