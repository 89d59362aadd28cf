package tasker

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Bounds of the pause between tries while a server does not answer.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 15 * time.Second
)

// backoff counts consecutive failures and pauses longer after each, with jitter so that a thousand workers do
// not return at the same instant.
type backoff struct{ failures int }

// wait pauses after err and reports whether ctx is still alive.
func (b *backoff) wait(ctx context.Context, err error) bool { return b.waitOr(ctx, err, nil) }

// waitOr is wait with a signal, which may be nil, that ends the pause early.
func (b *backoff) waitOr(ctx context.Context, err error, wake signal) bool {
	d := min(firstPause<<min(b.failures, 10), maxPause)
	b.failures++
	d = d/2 + rand.N(d)
	var e *Error
	if errors.As(err, &e) && e.RetryAfter > d {
		d = min(e.RetryAfter, time.Minute)
	}
	return sleepOr(ctx, d, wake)
}

// sleep waits for d and reports whether ctx is still alive. It is not the server's clock.Sleep, because this
// package imports nothing of the server and its workers need an early end.
func sleep(ctx context.Context, d time.Duration) bool { return sleepOr(ctx, d, nil) }

// sleepOr is sleep with a signal, which may be nil, that ends it early.
func sleepOr(ctx context.Context, d time.Duration, wake signal) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-wake:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// comesBack reports whether a call that failed with err may succeed later without a change by an operator.
func comesBack(err error) bool {
	switch ErrorCode(err) {
	case CodeUnavailable, CodeExhausted, CodeInternal:
		return true
	}
	return false
}
