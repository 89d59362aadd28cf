package memstore

import (
	"bytes"
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func sessionsTable(s *state) map[string]engine.Session { return s.sessions }

// SessionStore implements engine.Database.
func (s *Store) SessionStore() engine.SessionStore { return s }

// AddSession implements engine.SessionStore.
func (*Store) AddSession(_ context.Context, within engine.Tx, s *engine.Session) error {
	row := *s
	row.Hash = bytes.Clone(s.Hash)
	put(in(within), sessionsTable, string(s.Hash), row)
	return nil
}

// FindSession implements engine.SessionStore.
func (s *Store) FindSession(ctx context.Context, hash []byte) (*engine.Session, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	found, ok := st.sessions[string(hash)]
	if !ok {
		return nil, nil
	}
	return &found, nil
}

// DropSession implements engine.SessionStore.
func (*Store) DropSession(_ context.Context, within engine.Tx, hash []byte) error {
	drop(in(within), sessionsTable, string(hash))
	return nil
}

// DropSessionsOf implements engine.SessionStore.
func (*Store) DropSessionsOf(_ context.Context, within engine.Tx, key string) (int, error) {
	return in(within).dropSessions(len(in(within).s.sessions), func(s engine.Session) bool { return s.Key == key }), nil
}

// DropSessions implements engine.SessionStore.
func (*Store) DropSessions(_ context.Context, within engine.Tx, before task.Instant, limit int) (int, error) {
	return in(within).dropSessions(limit, func(s engine.Session) bool { return s.ExpiresAt < before }), nil
}

func (t *tx) dropSessions(limit int, which func(engine.Session) bool) (n int) {
	for hash, s := range t.s.sessions {
		if n < limit && which(s) {
			drop(t, sessionsTable, hash)
			n++
		}
	}
	return n
}
