package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker"
)

const (
	bodyTimeout = time.Minute
	bodySilence = 10 * time.Second
)

// timedBody reads a body within its deadlines and the budget of all bodies.
type timedBody struct {
	io.Reader
	w     http.ResponseWriter
	held  *bodyBudget // nil: the body does not stay in memory
	end   time.Time
	taken int64
}

func (b *timedBody) Read(p []byte) (int, error) {
	now := time.Now()
	if b.end.IsZero() {
		b.end = now.Add(bodyTimeout)
	}
	deadline := now.Add(bodySilence)
	if b.end.Before(deadline) {
		deadline = b.end
	}
	_ = http.NewResponseController(b.w).SetReadDeadline(deadline) // not supported by test recorders
	n, err := b.Reader.Read(p)
	b.taken += int64(n)
	if b.held != nil && !b.held.take(int64(n)) {
		return n, errBodiesFull
	}
	return n, err
}

// done removes the deadline: to net/http, one that passes during a long poll looks like a disconnected client.
func (b *timedBody) done() {
	_ = http.NewResponseController(b.w).SetReadDeadline(time.Time{})
	if b.held != nil {
		b.held.give(b.taken)
	}
}

// bodyBudget bounds the memory of the bodies in reception: many slow clients with large bodies could fill it. It is
// safe for concurrent use.
type bodyBudget struct {
	limit int64 // bytes
	used  atomic.Int64
}

// take adds n bytes and reports whether the sum is within the limit. The caller must give them back in either case.
func (b *bodyBudget) take(n int64) bool { return b.used.Add(n) <= b.limit }

func (b *bodyBudget) give(n int64) { b.used.Add(-n) }

// errBodiesFull: a retry helps, because bodies take at most bodyTimeout.
var errBodiesFull = &tasker.Error{Code: tasker.CodeUnavailable,
	Message: "the server receives too many large bodies at this time",
	Hint:    "try again, or raise server.bodies_bytes"}

// ReadBody reads the whole body of a request into buf, within limit bytes, the time bound, and the budget of all
// bodies. Errors: CodeTooLarge, CodeUnavailable, CodeInvalid for a truncated body.
func (f *Front) ReadBody(buf *bytes.Buffer, w http.ResponseWriter, r *http.Request, limit int64) error {
	if r.ContentLength > limit {
		return bodyTooLarge(limit)
	}
	body := f.timed(w, r, limit)
	defer body.done()
	_, err := buf.ReadFrom(body)
	return bodyFault(err, limit)
}

func (f *Front) timed(w http.ResponseWriter, r *http.Request, limit int64) *timedBody {
	return &timedBody{Reader: http.MaxBytesReader(Underneath(w), r.Body, limit), w: w, held: &f.bodies}
}

func bodyFault(err error, limit int64) error {
	var tooLarge *http.MaxBytesError
	var netError net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &tooLarge):
		return bodyTooLarge(limit)
	case errors.Is(err, errBodiesFull):
		return errBodiesFull
	case errors.As(err, &netError) && netError.Timeout():
		return &StatusError{http.StatusRequestTimeout,
			tasker.Errorf(tasker.CodeUnavailable, "the body did not arrive within %v, or nothing of it for %v", bodyTimeout,
				bodySilence)}
	}
	return tasker.Errorf(tasker.CodeInvalid, "the body ended early")
}

func bodyTooLarge(limit int64) error {
	return &tasker.Error{Code: tasker.CodeTooLarge, Message: fmt.Sprintf("the body is larger than %d bytes", limit),
		Hint: "send fewer or smaller items at once"}
}

// limitBody refuses a larger announced length; a body without one ends with an error at the limit.
func (f *Front) limitBody(limit int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > limit {
			f.Refuse(w, r, r.Pattern, bodyTooLarge(limit))
			return
		}
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := f.timed(w, r, limit)
		defer body.done()
		inner := *r
		inner.Body = struct {
			io.Reader
			io.Closer
		}{body, r.Body}
		defer func() { r.Pattern = inner.Pattern }()
		next.ServeHTTP(w, &inner)
	})
}
