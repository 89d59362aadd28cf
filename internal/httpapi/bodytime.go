package httpapi

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker"
)

const (
	// bodyTimeout bounds the time a client may take to send a body.
	bodyTimeout = time.Minute
	// bodySilence bounds the time between two parts of it.
	bodySilence = 10 * time.Second
)

// timedBody reads a body within its deadlines, and counts it among all that are
// being received.
type timedBody struct {
	io.Reader
	w     http.ResponseWriter
	held  *bodyBudget
	end   time.Time
	taken int64
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	now := time.Now()
	if b.end.IsZero() {
		b.end = now.Add(bodyTimeout)
	}
	deadline := now.Add(bodySilence)
	if b.end.Before(deadline) {
		deadline = b.end
	}
	_ = huma.SetReadDeadline(b.w, deadline) // not supported by test recorders
	n, err := b.Reader.Read(p)
	b.taken += int64(n)
	if !b.held.take(int64(n)) {
		return n, errBodiesFull
	}
	return n, err
}

// done takes the deadline off again, because a deadline that passes during a long
// poll looks to net/http like a client that went away.
func (b *timedBody) done() {
	_ = huma.SetReadDeadline(b.w, time.Time{})
	b.held.give(b.taken)
}

// bodyBudget bounds the memory of the bodies that are being received: many slow
// clients with large bodies could fill it. It is safe for concurrent use.
type bodyBudget struct {
	limit int64 // bytes
	used  atomic.Int64
}

// take counts n bytes in, and reports whether all are within the limit. They have to
// be given back either way.
func (b *bodyBudget) take(n int64) bool { return b.used.Add(n) <= b.limit }

func (b *bodyBudget) give(n int64) { b.used.Add(-n) }

var errBodiesFull = &tasker.Error{Code: tasker.CodeUnavailable, Message: "the server receives too many large bodies at this time",
	Hint: "try again, or raise server.bodies_bytes"}
