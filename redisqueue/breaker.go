package redisqueue

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// The breaker is our own: the libraries that were examined read the machine's clock, which tests must not wait for, and
// either do not count half-open calls apart from successes or cannot be held open by hand.

// BreakerState is the state of a Breaker.
type BreakerState string

const (
	// BreakerClosed means: calls go through.
	BreakerClosed BreakerState = "closed"
	// BreakerOpen means: no call goes through, until the recovery time is over.
	BreakerOpen BreakerState = "open"
	// BreakerHalfOpen means: a few calls go through, as a test.
	BreakerHalfOpen BreakerState = "half_open"
)

// BreakerConfig are the settings of a Breaker. Zero fields have defaults.
type BreakerConfig struct {
	// FailureThreshold is how many failures in a row open it. 1 to 50. Defaults to 5.
	FailureThreshold int `json:"failure_threshold"`
	// RecoveryTimeout is how long it is open before it tries. 1s to 10m. Defaults to 60s.
	RecoveryTimeout time.Duration `json:"recovery_timeout"`
	// HalfOpenMaxCalls bounds the concurrent calls while half-open. 1 to 10. Defaults to 3.
	HalfOpenMaxCalls int `json:"half_open_max_calls"`
	// SuccessThreshold is how many successes close it again. 1 to 10. Defaults to 2.
	SuccessThreshold int `json:"success_threshold"`
}

// MarshalJSON writes RecoveryTimeout in seconds.
func (c BreakerConfig) MarshalJSON() ([]byte, error) {
	type plain BreakerConfig // without this method
	return json.Marshal(struct {
		plain
		RecoveryTimeout float64 `json:"recovery_timeout"`
	}{plain(c), c.RecoveryTimeout.Seconds()})
}

func (c BreakerConfig) withDefaults() BreakerConfig {
	for _, f := range []struct {
		field *int
		value int
	}{{&c.FailureThreshold, 5}, {&c.HalfOpenMaxCalls, 3}, {&c.SuccessThreshold, 2}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	if c.RecoveryTimeout == 0 {
		c.RecoveryTimeout = time.Minute
	}
	return c
}

func (c BreakerConfig) check() error {
	switch {
	case c.FailureThreshold < 1 || c.FailureThreshold > 50:
		return fmt.Errorf("BreakerConfig.FailureThreshold must be 1 to 50, not %d", c.FailureThreshold)
	case c.RecoveryTimeout < time.Second || c.RecoveryTimeout > 10*time.Minute:
		return fmt.Errorf("BreakerConfig.RecoveryTimeout must be 1s to 10m, not %v", c.RecoveryTimeout)
	case c.HalfOpenMaxCalls < 1 || c.HalfOpenMaxCalls > 10:
		return fmt.Errorf("BreakerConfig.HalfOpenMaxCalls must be 1 to 10, not %d", c.HalfOpenMaxCalls)
	case c.SuccessThreshold < 1 || c.SuccessThreshold > 10:
		return fmt.Errorf("BreakerConfig.SuccessThreshold must be 1 to 10, not %d", c.SuccessThreshold)
	}
	return nil
}

// Breaker keeps calls from a failing service. It is closed until FailureThreshold calls in a row failed; then it is
// open for RecoveryTimeout; then half-open, until SuccessThreshold calls succeeded or one failed. It is safe for
// concurrent use and never blocks.
type Breaker struct {
	name   string
	config BreakerConfig
	clock  Clock

	mu       sync.Mutex
	s        BreakerStatus
	forced   bool   // open until Reset
	era      uint64 // of the state: a call from before a change does not count after it
	inFlight int    // calls while half-open
}

// BreakerStatus is the state of a Breaker. Calls are counted since it was made.
type BreakerStatus struct {
	Name  string       `json:"name"`
	State BreakerState `json:"state"`
	// FailureCount counts failures in a row, SuccessCount successes since it was half-open.
	FailureCount  int           `json:"failure_count"`
	SuccessCount  int           `json:"success_count"`
	TotalCalls    int64         `json:"total_calls"`       // requests
	RejectedCalls int64         `json:"rejected_calls"`    // of them
	LastFailureAt *time.Time    `json:"last_failure_time"` // nil: never
	OpenedAt      *time.Time    `json:"opened_at"`         // nil: it is closed
	Config        BreakerConfig `json:"config"`
	Trips         int64         `json:"-"` // how often it opened, also from half-open and by hand
}

// NewBreaker returns a closed Breaker. A nil clock is the machine's. It refuses a config outside its bounds.
func NewBreaker(name string, config BreakerConfig, clock Clock) (*Breaker, error) {
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	if clock == nil {
		clock = systemClock
	}
	return &Breaker{name: name, config: config, clock: clock,
		s: BreakerStatus{Name: name, State: BreakerClosed, Config: config}}, nil
}

// Permit is the right to one call. Its holder calls Done or Cancel once.
type Permit struct {
	b   *Breaker
	era uint64
}

// Allow asks for a call: ok is false while the breaker is open, or half-open with too many calls.
func (b *Breaker) Allow() (p Permit, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.TotalCalls++
	b.advance()
	switch b.s.State {
	case BreakerHalfOpen:
		ok = b.inFlight < b.config.HalfOpenMaxCalls
	default:
		ok = b.s.State == BreakerClosed
	}
	if !ok {
		b.s.RejectedCalls++
		return Permit{}, false
	}
	b.inFlight++
	return Permit{b, b.era}, true
}

// advance makes the breaker half-open after the recovery time; the caller holds mu.
func (b *Breaker) advance() {
	if b.s.State == BreakerOpen && !b.forced && !b.clock.Now().Before(b.s.OpenedAt.Add(b.config.RecoveryTimeout)) {
		b.enter(BreakerHalfOpen)
	}
}

// enter changes the state; the caller holds mu.
func (b *Breaker) enter(s BreakerState) {
	b.era++
	b.s.State, b.s.SuccessCount, b.inFlight = s, 0, 0
	switch s {
	case BreakerOpen:
		now := b.clock.Now()
		b.s.OpenedAt = &now
		b.s.Trips++
	case BreakerClosed:
		b.s.OpenedAt, b.s.FailureCount = nil, 0
	}
}

// Done records the result of the call. It ignores a call that began in an earlier state.
func (p Permit) Done(success bool) {
	b := p.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.era != b.era {
		return
	}
	b.inFlight--
	if !success {
		now := b.clock.Now()
		b.s.FailureCount++
		b.s.LastFailureAt = &now
		if b.s.State == BreakerHalfOpen || b.s.FailureCount >= b.config.FailureThreshold {
			b.enter(BreakerOpen)
		}
		return
	}
	if b.s.State == BreakerClosed {
		b.s.FailureCount = 0
		return
	}
	if b.s.SuccessCount++; b.s.SuccessCount >= b.config.SuccessThreshold {
		b.enter(BreakerClosed)
	}
}

// Cancel returns a permit without a verdict on the service, for example if the call was not made.
func (p Permit) Cancel() {
	b := p.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.era == b.era {
		b.inFlight--
	}
}

// Status returns the state and the counts.
func (b *Breaker) Status() BreakerStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	return b.s
}

// Reset closes the breaker, even one that was forced open.
func (b *Breaker) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forced = false
	b.enter(BreakerClosed)
}

// ForceOpen opens the breaker until Reset, for example before maintenance of the service.
func (b *Breaker) ForceOpen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forced = true
	b.enter(BreakerOpen)
}
