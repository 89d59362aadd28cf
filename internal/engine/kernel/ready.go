package kernel

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
	// A full disk still takes a small change in an existing page, but refuses a task. In bytes.
	largeProbe = 64 << 10
)

// ErrFull reports that the disk of the database is full.
var ErrFull = errors.New("the disk of the database is full")

type readiness struct {
	mu      sync.Mutex
	until   task.Instant // until when it counts
	refusal error        // nil: the store took writes
}

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

func (r *readiness) word(now task.Instant) (refusal error, counts bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refusal, now < r.until
}

// Ready reports whether the store takes writes: with a full disk it still answers reads. It writes at most once in 10
// s, unless a write fails; not for 10 s after a full disk refused a write other than a probe. Load balancers call it,
// so it must stay cheap.
func (e *Kernel) Ready(ctx context.Context) error {
	if err := e.Store.Ping(ctx); err != nil {
		return err
	}
	now := e.Now()
	refusal, counts := e.readiness.word(now)
	if counts {
		return refusal
	}
	text := now.Time().Format(time.RFC3339)
	if refusal != nil {
		raw := make([]byte, largeProbe/2)
		_, _ = rand.Read(raw) // random, so that no database compresses it
		text = hex.EncodeToString(raw)
	}
	err := e.Store.Write(ctx, func(ctx context.Context, tx Tx) error {
		return e.NoteStore.Note(ctx, tx, writeProbe, text)
	})
	if err == nil {
		e.readiness.tell(now, nil)
	}
	return err
}

// Transact runs fn in a transaction. A full disk makes the server unready whatever a probe says; after other failures,
// the next probe decides.
func (e *Kernel) Transact(ctx context.Context, fn func(context.Context, Tx) error) error {
	err := e.Store.Write(ctx, fn)
	switch {
	case errors.Is(err, ErrFull):
		e.readiness.tell(e.Now(), err)
	case task.CodeOf(err) == task.Unavailable:
		e.readiness.doubt()
	}
	return err
}
