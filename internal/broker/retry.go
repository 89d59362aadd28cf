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

// Bounds of the pause after failures in a row. The jitter spreads nodes that lost the same broker.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second
	jitter     = 0.25
)

func pause(ctx context.Context, failures int, limit time.Duration) error {
	r := task.Retry{Backoff: task.BackoffExponential, Base: firstPause, Max: limit, Jitter: jitter}
	return clock.Sleep(ctx, r.Delay(failures, 0, rand.Float64()))
}

// breaker stops sends for a time after failures in a row; then one send is a test that closes it.
type breaker struct {
	limit int
	open  time.Duration

	mu       sync.Mutex
	failures int
	until    time.Time // when it may be tested; zero while closed
	testing  bool
}

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

// forget ends an allowed send without a verdict on the broker, such as a cancelled one.
func (b *breaker) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.testing = false
}

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
