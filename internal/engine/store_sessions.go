package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Session is a time in which a person is signed in with an API key.
type Session struct {
	Hash      []byte // SHA-256 of the token that the browser has
	Key       string // name of the API key
	KeyID     string // tells the key from another one of that name
	CreatedAt task.Instant
	ExpiresAt task.Instant
}

// SessionStore stores sessions.
type SessionStore interface {
	AddSession(ctx context.Context, tx Tx, s *Session) error
	// FindSession returns the session with a hash, or nil. It may have expired.
	FindSession(ctx context.Context, hash []byte) (*Session, error)
	// DropSession deletes the session with a hash, if there is one.
	DropSession(ctx context.Context, tx Tx, hash []byte) error
	// DropSessionsOf deletes the sessions of a key, and returns their number.
	DropSessionsOf(ctx context.Context, tx Tx, key string) (int, error)
	// DropSessions deletes up to limit sessions that expired before a time, and returns their number.
	DropSessions(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
}
