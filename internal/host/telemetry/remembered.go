package telemetry

import (
	"context"
	"sync"
	"time"
)

const (
	// censusTimeout bounds a count: a scrape must not hang on the store.
	censusTimeout = 5 * time.Second
	// censusRest is how long a count is reused, and censusShare how many times its own duration: counting
	// takes only a part of the time, however often it is requested.
	censusRest  = 5 * time.Second
	censusShare = 20
)

// remembered runs a count when metrics are read, and keeps the result for a while. Concurrent scrapes wait for one
// count instead of starting several. The zero value counts nothing.
type remembered[T any] struct {
	mu    sync.Mutex
	count func(ctx context.Context) (T, error) // nil: nothing is watched yet
	last  T                                    // the zero value: it failed
	until time.Time                            // when it has to be counted again
}

// watch replaces what is counted, and discards the last result.
func (r *remembered[T]) watch(count func(ctx context.Context) (T, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count, r.until = count, time.Time{}
}

// get returns the last count, the zero value if it failed, and whether there is something to count. It
// blocks for at most censusTimeout. A failure is kept like a result, so that an outage does not
// add load.
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
