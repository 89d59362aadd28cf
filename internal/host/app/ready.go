package app

import (
	"context"
	"sync"
	"time"

	"github.com/taskerhq/tasker"
)

// readyTimeout bounds the response to a probe.
const readyTimeout = 2 * time.Second

// readiness checks the store for probes, within a bound even while the database hangs. Waiting probes share one
// check.
type readiness struct {
	ask func(context.Context) error

	mu      sync.Mutex
	running *readyCheck // nil: none pending
}

// readyCheck may outlast its waiters.
type readyCheck struct {
	done chan struct{} // closed when err is set
	err  error
}

func (r *readiness) within(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout,
		tasker.Errorf(tasker.CodeUnavailable, "the database does not answer within %v", readyTimeout))
	defer cancel()
	check := r.join(ctx)
	select {
	case <-check.done:
		return check.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// The check outlives ctx, because others may have joined it; five times the timeout bounds it.
func (r *readiness) join(ctx context.Context) *readyCheck {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running != nil {
		return r.running
	}
	check := &readyCheck{done: make(chan struct{})}
	r.running = check
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*readyTimeout)
		defer cancel()
		err := r.ask(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		check.err, r.running = err, nil
		close(check.done)
	}()
	return check
}
