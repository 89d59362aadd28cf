package sqlite

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/nesting"
)

// Write implements engine.Store. Writes that arrive during a commit share the next transaction, so that one sync of the
// disk makes many writes durable. fn may run twice; see commit. It blocks until the write is durable or has failed. A
// caller whose context ends before the batch begins gets the error of its context.
func (s *Store) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	return s.write(ctx, write{fn: fn})
}

func (s *Store) write(ctx context.Context, w write) error {
	if err := nesting.Check(ctx); err != nil {
		return err // it would wait for the transaction in which it runs
	}
	inside := nesting.Enter(context.WithoutCancel(ctx))
	defer inside.Leave()
	w.ctx = inside
	failed, err := s.group.Do(ctx, w)
	if err != nil {
		return err
	}
	return failed
}

// write is a function with its caller's context. A caller may leave while its write waits, but not after the batch
// began: rolling back would make the others of the batch run again.
type write struct {
	ctx   context.Context
	fn    func(context.Context, engine.Tx) error
	alone bool
}

// commit runs writes as one transaction. If one fails, all are rolled back and each runs again in its own transaction,
// so that only the faulty one fails. The second result is always nil: each write has its own error.
func (s *Store) commit(writes []write) ([]error, error) {
	failed := make([]error, len(writes))
	if len(writes) > 1 && slices.ContainsFunc(writes, func(w write) bool { return w.alone }) {
		for i, w := range writes {
			failed[i] = s.transact(w)
		}
		return failed, nil
	}
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

// transact runs writes in one transaction. BEGIN IMMEDIATE takes the lock of the writer first, so no later statement
// finds the database busy. Functions of one batch see each other's changes, in the order of their arrival.
func (s *Store) transact(writes ...write) error {
	if s.closed.Load() {
		return task.Errorf(task.Unavailable, "the store is closed")
	}
	ctx := context.Background()
	s.gate.close()
	if _, err := s.conn.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		s.gate.open()
		return fmt.Errorf("begin: %w", err)
	}
	s.tx.begin()
	for _, w := range writes {
		if err := s.guarded(w); err != nil {
			return s.rollback(err, true)
		}
	}
	if _, err := s.conn.Exec(ctx, "COMMIT"); err != nil {
		return s.rollback(fmt.Errorf("commit: %w", err), false)
	}
	s.gate.open() // before the callbacks, which may read
	for _, fn := range s.tx.after {
		fn()
	}
	return nil
}

// guarded turns a panic into an error, with its stack as the only trace: the transaction must be rolled back.
func (s *Store) guarded(w write) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack())
		}
	}()
	return w.fn(w.ctx, s.tx)
}

// rollback ends an unsuccessful transaction and returns its cause. sure is false after a failed commit, which may
// nevertheless have reached the disk.
func (s *Store) rollback(cause error, sure bool) error {
	s.tx.undo()
	// After some errors SQLite has rolled back automatically; then this statement fails.
	_, _ = s.conn.Exec(context.Background(), "ROLLBACK")
	s.gate.open()
	for _, fn := range s.tx.failed {
		fn(sure)
	}
	return cause
}
