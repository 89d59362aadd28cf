package office

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// AddSession stores the session of a signed-in person, with an act.
func (e *Room) AddSession(ctx context.Context, s *kernel.Session) error {
	return e.Write(ctx, "sign_in", func(u *kernel.Unit) error {
		u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, Kind: task.ActSignIn, Actor: s.Key})
		return e.SessionStore.AddSession(u.Ctx, u.Tx, s)
	})
}

// FindSession returns the session with a hash, even an expired one, or nil.
func (e *Room) FindSession(ctx context.Context, hash []byte) (*kernel.Session, error) {
	return e.SessionStore.FindSession(ctx, hash)
}

// EndSession deletes a session, if it exists.
func (e *Room) EndSession(ctx context.Context, hash []byte) error {
	return e.Write(ctx, "sign_out", func(u *kernel.Unit) error { return e.SessionStore.DropSession(u.Ctx, u.Tx, hash) })
}

// EndSessions deletes all sessions of a key, with an act if any, and returns their number.
func (e *Room) EndSessions(ctx context.Context, key string) (n int, err error) {
	err = e.Write(ctx, "sign_out_everywhere", func(u *kernel.Unit) error {
		if n, err = e.SessionStore.DropSessionsOf(u.Ctx, u.Tx, key); err != nil || n == 0 {
			return err
		}
		u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, Kind: task.ActSignOutEverywhere, Actor: key})
		return nil
	})
	return n, err
}
