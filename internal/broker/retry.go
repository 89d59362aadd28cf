package broker

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Dial opens a connection. Package driver's Registry does so without showing secrets in errors.
type Dial func(ctx context.Context) (driver.Driver, error)

// Bounds of the pause after failures in a row. With the jitter, nodes that lost the same broker do not return at once.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second
	jitter     = 0.25
)

// pause waits after a number of failures in a row; it returns the error of ctx when that ends earlier.
func pause(ctx context.Context, failures int, limit time.Duration) error {
	r := task.Retry{Backoff: task.BackoffExponential, Base: firstPause, Max: limit, Jitter: jitter}
	return clock.Sleep(ctx, r.Delay(failures, 0, rand.Float64()))
}

// breaker stops sends after a number of failures in a row, for a time; then one send is a test that closes it.
type breaker struct {
	limit int
	open  time.Duration

	mu       sync.Mutex
	failures int
	until    time.Time // when it may be tested; zero while it is closed
	testing  bool
}

// allow reports whether a send may go through, to be recorded or forgotten, or how long the breaker is open.
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

func (b *breaker) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.until.IsZero()
}
