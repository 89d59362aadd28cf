// Package backoff holds the pauses of clients and workers: between tries while a server does not answer, and between
// polls that a server does not hold. It is not the server's clock.Sleep, because applications carry it, and their
// workers need an early end.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Bounds of the pause between tries while a server does not answer.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 15 * time.Second
)

// Patience bounds how long a call retries while no server answers: long enough for the restart of a server, short
// enough that a caller learns of a real outage.
const Patience = time.Minute

// Pauses counts consecutive failures and pauses longer after each, with jitter so that a thousand workers do not
// return at the same instant. The zero value has seen no failure.
type Pauses struct{ Failures int }

// Wait pauses after a failure, for as long as the server advised if that is longer and at most a minute, and reports
// whether ctx is still alive.
func (p *Pauses) Wait(ctx context.Context, advised time.Duration) bool {
	return p.WaitOr(ctx, advised, nil)
}

// WaitOr is Wait with a channel, which may be nil, that ends the pause early.
func (p *Pauses) WaitOr(ctx context.Context, advised time.Duration, wake <-chan struct{}) bool {
	d := min(firstPause<<min(p.Failures, 10), maxPause)
	p.Failures++
	d = d/2 + rand.N(d)
	if advised > d {
		d = min(advised, time.Minute)
	}
	return SleepOr(ctx, d, wake)
}

// Sleep waits for d and reports whether ctx is still alive.
func Sleep(ctx context.Context, d time.Duration) bool { return SleepOr(ctx, d, nil) }

// SleepOr is Sleep with a channel, which may be nil, that ends it early.
func SleepOr(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
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

// Early is the pause after a long poll that the server did not hold. It grows from 1 ms to the interval, which is a
// second unless it is positive. early counts such polls from 1. Half of the pause is random, so that many callers do
// not return together.
func Early(early int, interval time.Duration) time.Duration {
	if interval <= 0 {
		interval = time.Second
	}
	d := min(time.Millisecond<<min(early-1, 12), interval)
	return d/2 + rand.N(d/2+1)
}
