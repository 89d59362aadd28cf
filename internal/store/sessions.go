package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// SessionStore implements engine.Database.
func (s SQL) SessionStore() engine.SessionStore { return s }

// AddSession implements engine.SessionStore.
func (SQL) AddSession(ctx context.Context, tx engine.Tx, s *engine.Session) error {
	return In(tx).Send(ctx, `INSERT INTO tasker_sessions (hash, key_name, key_id, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5)`, s.Hash, s.Key, s.KeyID, int64(s.CreatedAt), int64(s.ExpiresAt))
}

// FindSession implements engine.SessionStore.
func (s SQL) FindSession(ctx context.Context, hash []byte) (*engine.Session, error) {
	return first(ctx, s, func(row Row) (*engine.Session, error) {
		found := &engine.Session{Hash: hash}
		err := row.Scan((*Text)(&found.Key), (*Text)(&found.KeyID), (*int64)(&found.CreatedAt), (*int64)(&found.ExpiresAt))
		return found, err
	}, `SELECT key_name, key_id, created_at, expires_at FROM tasker_sessions WHERE hash = $1`, hash)
}

// DropSession implements engine.SessionStore.
func (SQL) DropSession(ctx context.Context, tx engine.Tx, hash []byte) error {
	return In(tx).Send(ctx, `DELETE FROM tasker_sessions WHERE hash = $1`, hash)
}

// DropSessionsOf implements engine.SessionStore.
func (SQL) DropSessionsOf(ctx context.Context, tx engine.Tx, key string) (int, error) {
	n, err := In(tx).Exec(ctx, `DELETE FROM tasker_sessions WHERE key_name = $1`, key)
	return int(n), err
}

// DropSessions implements engine.SessionStore, the earliest expired first.
func (SQL) DropSessions(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error) {
	n, err := In(tx).Exec(ctx, `DELETE FROM tasker_sessions WHERE hash IN (SELECT hash FROM tasker_sessions
 WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`, int64(before), limit)
	return int(n), err
}
