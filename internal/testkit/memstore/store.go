package memstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/nesting"
)

// Options are the settings of a Store. Nil means the zero value.
type Options struct {
	// Seed makes the IDs of Stores differ.
	Seed uint64
	// Rehearse runs every function of Write first without effect. It finds functions that cannot run twice.
	Rehearse bool
}

// Store implements engine.Store in memory. It is safe for concurrent use: one writer at a time, and readers of the last
// committed state.
type Store struct {
	ids      *task.Source
	rehearse bool

	// A channel, not a mutex, so that a caller can stop waiting when its context ends.
	writer chan struct{} // holds a token while there is no writer
	work   *state        // used by the writer only

	mu        sync.RWMutex // guards the fields below
	committed *state
	closed    bool
}

var _ engine.Database = (*Store)(nil)

// New returns an empty Store.
func New(opts *Options) *Store {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{
		ids:       task.NewSource(opts.Seed, 0),
		rehearse:  opts.Rehearse,
		writer:    make(chan struct{}, 1),
		work:      newState(),
		committed: newState(),
	}
	s.writer <- struct{}{}
	return s
}

// IDs implements engine.Store.
func (s *Store) IDs() *task.Source { return s.ids }

// Ping implements engine.Store. It fails only if the store is closed or ctx is done.
func (s *Store) Ping(ctx context.Context) error {
	_, done, err := s.read(ctx)
	if err != nil {
		return err
	}
	done()
	return nil
}

// Close implements engine.Store and drops the content. It waits for the running transaction; later calls return
// task.Unavailable.
func (s *Store) Close() error {
	<-s.writer
	defer func() { s.writer <- struct{}{} }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// Write implements engine.Store. One function runs at a time; a waiting caller leaves when ctx is done. A panic of fn
// rolls back and continues.
func (s *Store) Write(ctx context.Context, fn func(ctx context.Context, tx engine.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := nesting.Check(ctx); err != nil {
		return err // it would wait for its own transaction
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("write: %w", ctx.Err())
	case <-s.writer:
	}
	defer func() { s.writer <- struct{}{} }()
	if s.isClosed() {
		return errClosed()
	}
	// A real store may run a function again after a conflict or with others that failed.
	if s.rehearse {
		if _, err := s.run(ctx, fn, false); err != nil {
			return err
		}
	}
	t, err := s.run(ctx, fn, true)
	if err != nil {
		return err
	}
	// Readers see the commit before the callbacks run: a callback may read its effect.
	s.publish(t.journal)
	for _, fn := range t.after {
		fn()
	}
	return nil
}

// publish adds a transaction to the committed state, atomically for readers. It waits for running readers and blocks
// new ones during the replay.
func (s *Store) publish(journal []change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range journal {
		c.redo(s.committed)
	}
}

// run calls fn on the writer's state and checks the result. Invalid or unwanted changes are undone before run returns
// or panics: the deferred function also runs on a panic, before the writer's token is given back.
func (s *Store) run(ctx context.Context, fn func(ctx context.Context, tx engine.Tx) error, keep bool) (*tx, error) {
	t := &tx{s: s.work, touched: map[task.ID]bool{}}
	kept := false
	defer func() {
		if !kept {
			t.rollback()
			for _, fn := range t.failed {
				fn(true)
			}
		}
	}()
	inside := nesting.Enter(ctx)
	defer inside.Leave()
	if err := fn(inside, t); err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	kept = keep
	return t, nil
}

// isClosed is for the writer, which does not hold mu.
func (s *Store) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// read returns the committed state, unchanged until the caller calls done. A caller must not keep rows afterwards;
// without done every later commit blocks.
func (s *Store) read(ctx context.Context) (st *state, done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("read: %w", err)
	}
	if err := nesting.Check(ctx); err != nil {
		return nil, nil, err
	}
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return nil, nil, errClosed()
	}
	return s.committed, s.mu.RUnlock, nil
}

// errClosed has the code of a lost database, so that callers treat both alike.
func errClosed() error { return task.Errorf(task.Unavailable, "the store is closed") }
