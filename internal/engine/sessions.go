package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// AddSession stores the session of a signed-in person, with an act.
func (e *Engine) AddSession(ctx context.Context, s *Session) error {
	return e.write(ctx, "sign_in", func(u *unit) error {
		u.records.acts = append(u.records.acts, task.Act{At: u.now, Kind: task.ActSignIn, Actor: s.Key})
		return e.sessionStore.AddSession(u.ctx, u.tx, s)
	})
}

// FindSession returns the session with a hash, even an expired one, or nil.
func (e *Engine) FindSession(ctx context.Context, hash []byte) (*Session, error) {
	return e.sessionStore.FindSession(ctx, hash)
}

// EndSession deletes a session, if it exists.
func (e *Engine) EndSession(ctx context.Context, hash []byte) error {
	return e.write(ctx, "sign_out", func(u *unit) error { return e.sessionStore.DropSession(u.ctx, u.tx, hash) })
}

// EndSessions deletes all sessions of a key, with an act if any, and returns their number.
func (e *Engine) EndSessions(ctx context.Context, key string) (n int, err error) {
	err = e.write(ctx, "sign_out_everywhere", func(u *unit) error {
		if n, err = e.sessionStore.DropSessionsOf(u.ctx, u.tx, key); err != nil || n == 0 {
			return err
		}
		u.records.acts = append(u.records.acts, task.Act{At: u.now, Kind: task.ActSignOutEverywhere, Actor: key})
		return nil
	})
	return n, err
}
