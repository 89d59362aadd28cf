package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	writeTrust = 10 * time.Second
	// writeProbe is the note that is written to check that writes work.
	writeProbe = "write_probe"
	// largeProbe is the size of the note that is written after a refusal, in bytes. A full disk still takes a change of
	// a few bytes in a page that exists, and refuses a task.
	largeProbe = 64 << 10
)

// ErrFull reports that the disk of the database is full.
var ErrFull = errors.New("the disk of the database is full")

// readiness is what writes have told of the store.
type readiness struct {
	mu      sync.Mutex
	until   task.Instant // until which the last word counts
	refusal error        // nil: the store took writes
}

// tell stores what a write has told at a time.
func (r *readiness) tell(now task.Instant, refusal error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until, r.refusal = now.Add(writeTrust), refusal
}

// doubt makes the next Ready try a write, unless the last one was refused.
func (r *readiness) doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refusal == nil {
		r.until = 0
	}
}

// word returns what the last write has told, and whether that still counts.
func (r *readiness) word(now task.Instant) (refusal error, counts bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refusal, now < r.until
}

// Ready reports whether the store answers and takes writes: one whose disk is full still answers reads. It writes at
// most once in 10 s, unless a write fails; not at all for 10 s after a full disk has refused a write that was no probe.
// It is what the readiness check of a load balancer calls, so it must stay cheap.
func (e *Engine) Ready(ctx context.Context) error {
	if err := e.store.Ping(ctx); err != nil {
		return err
	}
	now := e.instant()
	refusal, counts := e.readiness.word(now)
	if counts {
		return refusal
	}
	text := now.Time().Format(time.RFC3339)
	if refusal != nil {
		raw := make([]byte, largeProbe/2)
		_, _ = rand.Read(raw) // never fails; random, so that no database stores it in less
		text = hex.EncodeToString(raw)
	}
	err := e.store.Write(ctx, func(ctx context.Context, tx Tx) error {
		return e.noteStore.Note(ctx, tx, writeProbe, text)
	})
	if err == nil {
		e.readiness.tell(now, nil)
	}
	return err
}

// transact runs fn as one transaction of the store. Readiness learns of it if it fails: a full disk refuses what comes
// next as well, whatever a probe says; for everything else, the next probe finds out.
func (e *Engine) transact(ctx context.Context, fn func(context.Context, Tx) error) error {
	err := e.store.Write(ctx, fn)
	switch {
	case errors.Is(err, ErrFull):
		e.readiness.tell(e.instant(), err)
	case task.CodeOf(err) == task.Unavailable:
		e.readiness.doubt()
	}
	return err
}
