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
func (s *Store) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	failed, err := s.group.Do(ctx, write{context.WithoutCancel(ctx), fn})
	if err != nil {
		return err
	}
	return failed
}

// write is a function with the context of its caller, who may leave while it waits and not later: one that is gone
// must not make the others of a batch run again.
type write struct {
	ctx context.Context
	fn  func(context.Context, engine.Tx) error
}

// commit runs writes as one transaction. When one of them fails, all are rolled
// back and each is run again on its own, so that only the guilty one fails.
func (s *Store) commit(writes []write) ([]error, error) {
	failed := make([]error, len(writes))
	err := s.transact(writes...)
	switch {
	case err == nil:
		return failed, nil
	case len(writes) == 1:
		failed[0] = err
		return failed, nil
	}
	for i, w := range writes {
		failed[i] = s.transact(w)
	}
	return failed, nil
}

func (s *Store) transact(writes ...write) error {
	if s.closed.Load() {
		return task.Errorf(task.Unavailable, "the store is closed")
	}
	ctx := context.Background()
	if _, err := s.conn.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	s.tx.begin()
	for _, w := range writes {
		if err := guarded(s.tx, w); err != nil {
			return s.rollback(err, true)
		}
	}
	if _, err := s.conn.Exec(ctx, "COMMIT"); err != nil {
		return s.rollback(fmt.Errorf("commit: %w", err), false)
	}
	for _, fn := range s.tx.after {
		fn()
	}
	return nil
}

// guarded turns a panic into an error: the transaction must be rolled back.
func guarded(tx *tx, w write) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack())
		}
	}()
	return w.fn(w.ctx, tx)
}

// rollback ends a transaction that came to nothing; sure is false after a commit that failed.
func (s *Store) rollback(cause error, sure bool) error {
	s.tx.undo()
	// After some errors SQLite has rolled back automatically; then this one fails.
	_, _ = s.conn.Exec(context.Background(), "ROLLBACK")
	for _, fn := range s.tx.failed {
		fn(sure)
	}
	return cause
}
