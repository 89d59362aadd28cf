package storetest

import (
	"bytes"
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func sessionCases() []testCase {
	return []testCase{
		{"FoundByHash", sessionFound},
		{"DroppedByHash", sessionDropped},
		{"DroppedByKey", sessionsOfKeyDropped},
		{"DroppedWhenExpired", sessionsExpired},
	}
}

// session stores a session whose hash repeats one byte.
func (f *fixture) session(b byte, key string, lifetime int64) *engine.Session {
	f.Helper()
	s := &engine.Session{Hash: bytes.Repeat([]byte{b}, 32), Key: key, KeyID: "id of " + key, CreatedAt: f.now,
		ExpiresAt: f.now + task.Instant(lifetime)}
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.SessionStore().AddSession(ctx, tx, s) })
	return s
}

func (f *fixture) findSession(hash []byte) *engine.Session {
	f.Helper()
	got, err := f.store.SessionStore().FindSession(f.Context(), hash)
	f.must(err)
	return got
}

func sessionFound(f *fixture) {
	want := f.session(0, "ann's key \u2028 \"'", 10) // a hash may have any bytes
	f.session(255, "bob", 10)
	f.equal("session", f.findSession(want.Hash), want)
	f.equal("unknown", f.findSession(bytes.Repeat([]byte{7}, 32)), (*engine.Session)(nil))
	f.equal("no hash", f.findSession([]byte{}), (*engine.Session)(nil))
}

func sessionDropped(f *fixture) {
	a, b := f.session(1, "ann", 10), f.session(2, "ann", 10)
	for range 2 { // the second time there is nothing to drop
		f.write(func(ctx context.Context, tx engine.Tx) error {
			return f.store.SessionStore().DropSession(ctx, tx, a.Hash)
		})
	}
	f.equal("dropped", f.findSession(a.Hash), (*engine.Session)(nil))
	f.equal("other", f.findSession(b.Hash), b)
}

func sessionsOfKeyDropped(f *fixture) {
	a, b, c := f.session(1, "ann", 10), f.session(2, "ann", 10), f.session(3, "Ann", 10)
	n := 0
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		n, err = f.store.SessionStore().DropSessionsOf(ctx, tx, "ann")
		return err
	})
	f.equal("number", n, 2)
	for _, s := range []*engine.Session{a, b} {
		f.equal("dropped", f.findSession(s.Hash), (*engine.Session)(nil))
	}
	f.equal("other", f.findSession(c.Hash), c)
}

func sessionsExpired(f *fixture) {
	for b := range byte(4) {
		f.session(b, "ann", int64(b))
	}
	dropped := func(limit int) (n int) {
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			n, err = f.store.SessionStore().DropSessions(ctx, tx, f.now+3, limit)
			return err
		})
		return n
	}
	f.equal("bounded", dropped(2), 2)
	f.equal("rest", dropped(10), 1)
	f.equal("none", dropped(10), 0)
	if f.findSession(bytes.Repeat([]byte{3}, 32)) == nil {
		f.Error("a session was dropped that expires at the time itself")
	}
}
