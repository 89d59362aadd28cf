package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Session is a person's sign-in with an API key.
type Session struct {
	Hash      []byte // SHA-256 of the browser's token
	Key       string
	KeyID     string // distinguishes keys with one name
	CreatedAt task.Instant
	ExpiresAt task.Instant
}

// SessionStore stores sessions.
type SessionStore interface {
	AddSession(ctx context.Context, tx Tx, s *Session) error
	// FindSession returns the session with a hash, even an expired one, or nil.
	FindSession(ctx context.Context, hash []byte) (*Session, error)
	DropSession(ctx context.Context, tx Tx, hash []byte) error
	DropSessionsOf(ctx context.Context, tx Tx, key string) (int, error)
	DropSessions(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)
}
