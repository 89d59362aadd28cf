package redisqueue

import (
	"maps"
	"slices"
	"sync"
)

// BreakerRegistry holds the breakers of a process by name, for its status page. The zero value is ready for use, and
// safe for concurrent use.
type BreakerRegistry struct {
	mu       sync.Mutex
	breakers map[string]*Breaker
}

// GetOrCreate returns the breaker of that name, or a new one with config and clock.
func (r *BreakerRegistry) GetOrCreate(name string, config BreakerConfig, clock Clock) (*Breaker, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b, ok := r.breakers[name]; ok {
		return b, nil
	}
	b, err := NewBreaker(name, config, clock)
	if err != nil {
		return nil, err
	}
	if r.breakers == nil {
		r.breakers = map[string]*Breaker{}
	}
	r.breakers[name] = b
	return b, nil
}

// Get returns the breaker of that name, or nil.
func (r *BreakerRegistry) Get(name string) *Breaker {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.breakers[name]
}

// Names returns the names, sorted.
func (r *BreakerRegistry) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.breakers))
}

// Status returns the status of each breaker, sorted by name.
func (r *BreakerRegistry) Status() []BreakerStatus {
	names := r.Names()
	out := make([]BreakerStatus, 0, len(names))
	for _, name := range names {
		out = append(out, r.Get(name).Status())
	}
	return out
}

// Reset closes all breakers.
func (r *BreakerRegistry) Reset() {
	for _, name := range r.Names() {
		r.Get(name).Reset()
	}
}
