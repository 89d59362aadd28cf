package local

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/task"
)

// SaveSession stores a session of the dashboard. The methods about sessions are not part of tasker.Backend.
func (b *Backend) SaveSession(ctx context.Context, s access.Session) error {
	return ToError(b.engine.AddSession(ctx, &engine.Session{Hash: s.Hash[:], Key: s.Key, KeyID: s.KeyID,
		CreatedAt: task.At(s.CreatedAt), ExpiresAt: task.At(s.ExpiresAt)}))
}

// FindSession returns a session, or nil. It may have expired.
func (b *Backend) FindSession(ctx context.Context, hash [32]byte) (*access.Session, error) {
	s, err := b.engine.FindSession(ctx, hash[:])
	if err != nil || s == nil {
		return nil, ToError(err)
	}
	return &access.Session{Hash: hash, Key: s.Key, KeyID: s.KeyID, CreatedAt: s.CreatedAt.Time(),
		ExpiresAt: s.ExpiresAt.Time()}, nil
}

// EndSession deletes a session, if it exists.
func (b *Backend) EndSession(ctx context.Context, hash [32]byte) error {
	return ToError(b.engine.EndSession(ctx, hash[:]))
}

// EndSessions deletes all sessions of a key, and returns their number.
func (b *Backend) EndSessions(ctx context.Context, key string) (int, error) {
	n, err := b.engine.EndSessions(ctx, key)
	return n, ToError(err)
}
