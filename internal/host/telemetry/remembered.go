package telemetry

import (
	"context"
	"sync"
	"time"
)

const (
	// censusTimeout bounds a count: a scrape must not hang on the store.
	censusTimeout = 5 * time.Second
	// A count is reused for censusRest and censusShare times its duration, so that counting takes a bounded part of
	// the time.
	censusRest  = 5 * time.Second
	censusShare = 20
)

// remembered runs a count when metrics are read, and keeps the result for a while. Concurrent scrapes share a
// count. The zero value counts nothing.
type remembered[T any] struct {
	mu    sync.Mutex
	count func(ctx context.Context) (T, error) // nil: not watched yet
	last  T                                    // zero: it failed
	until time.Time                            // the next count
}

// watch replaces the count and drops its result.
func (r *remembered[T]) watch(count func(ctx context.Context) (T, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count, r.until = count, time.Time{}
}

// get returns the last count, zero if it failed, and whether there is something to count. It blocks for at most
// censusTimeout. It keeps a failure like a result, so that an outage adds no load.
func (r *remembered[T]) get(ctx context.Context) (last T, watched bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		return last, false
	}
	began := time.Now()
	if began.Before(r.until) {
		return r.last, true
	}
	ctx, cancel := context.WithTimeout(ctx, censusTimeout)
	defer cancel()
	counted, err := r.count(ctx)
	if err != nil {
		var none T
		counted = none
	}
	r.last = counted
	now := time.Now()
	r.until = now.Add(max(censusRest, censusShare*now.Sub(began)))
	return r.last, true
}
