package engine

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// writeTrust is how long a successful write proves that the store takes writes.
	writeTrust = 10 * time.Second
	// writeProbe is the note that is written to check that writes work.
	writeProbe = "write_probe"
)

// readiness is the time until which the store counts as taking writes.
type readiness struct{ trusted atomic.Int64 } // a task.Instant

// Ready reports whether the store answers and takes writes: one whose disk is full still
// answers reads. It writes at most once in 10 s, unless that fails. It is what the readiness
// check of a load balancer calls, so it must stay cheap.
func (e *Engine) Ready(ctx context.Context) error {
	if err := e.store.Ping(ctx); err != nil {
		return err
	}
	now := e.instant()
	if int64(now) < e.readiness.trusted.Load() {
		return nil
	}
	err := e.store.Write(ctx, func(ctx context.Context, tx Tx) error {
		return e.noteStore.Note(ctx, tx, writeProbe, now.Time().Format(time.RFC3339))
	})
	if err == nil {
		e.readiness.trusted.Store(int64(now.Add(writeTrust)))
	}
	return err
}
