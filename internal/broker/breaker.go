package broker

import (
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// breaker stops sends to a broker that fails: after a number of failures in a row it is open for a time, then lets one
// send through as a test. A success closes it.
type breaker struct {
	limit int
	open  time.Duration

	mu       sync.Mutex
	failures int
	until    time.Time // when it may be tested; zero while it is closed
	testing  bool
}

// allow reports whether a send may go through, and else how long the breaker is open. Whoever is allowed calls record
// or forget.
func (b *breaker) allow(now time.Time) (bool, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.until.IsZero():
		return true, 0
	case now.Before(b.until):
		return false, b.until.Sub(now)
	case b.testing:
		return false, 0
	}
	b.testing = true
	return true, 0
}

// record counts the outcome of a send that was allowed.
func (b *breaker) record(ok bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.testing = false
	if ok {
		b.failures, b.until = 0, time.Time{}
		return
	}
	if b.failures++; b.failures >= b.limit {
		b.until = now.Add(b.open)
	}
}

// forget ends a send that was allowed and says nothing of the broker, such as one that its caller cancelled.
func (b *breaker) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.testing = false
}

// state returns the state: half-open once a send may test the broker, until that send has ended.
func (b *breaker) state(now time.Time) task.BreakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.until.IsZero():
		return task.BreakerClosed
	case now.Before(b.until):
		return task.BreakerOpen
	}
	return task.BreakerHalfOpen
}

// closed reports whether the breaker lets all sends through.
func (b *breaker) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.until.IsZero()
}
