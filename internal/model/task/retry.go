package task

import (
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
)

// Backoff is the growth of the delay between attempts.
type Backoff string

// The back-off strategies.
const (
	BackoffNone        Backoff = "none"
	BackoffFixed       Backoff = "fixed"
	BackoffLinear      Backoff = "linear"      // base * attempts
	BackoffExponential Backoff = "exponential" // base * 2^(attempts-1)
)

// Backoffs lists the strategies.
var Backoffs = []Backoff{BackoffNone, BackoffFixed, BackoffLinear, BackoffExponential}

// Retry decides whether, how often and when a failed attempt is repeated.
type Retry struct {
	Retryable bool
	// MaxAttempts includes the first; 0 takes the priority level's.
	MaxAttempts int
	Backoff     Backoff
	Base        time.Duration
	// Max caps the delay before jitter; 0 takes the priority level's.
	Max time.Duration
	// Jitter is the fraction by which the delay varies: 0.1 is ±10 %.
	Jitter float64
	Limits ClassLimits `json:",omitzero"`
	// BaseSaid and JitterSaid mark explicit values. In older templates only values other than the default are
	// explicit.
	BaseSaid   bool `json:",omitempty"`
	JitterSaid bool `json:",omitempty"`
}

// Defaults of a retry block.
const (
	DefaultBackoff = BackoffExponential
	DefaultBase    = time.Second
	DefaultJitter  = 0.1
	// MaxDelay caps every delay, including a Retry-After, so that a worker's mistake cannot delay a step for years.
	MaxDelay = 30 * 24 * time.Hour
)

// DefaultRetry is the policy of a step without its own.
func DefaultRetry() Retry {
	return Retry{Retryable: true, Backoff: DefaultBackoff, Base: DefaultBase, Jitter: DefaultJitter}
}

// Over returns the policy with base and jitter instead of defaults.
func (r Retry) Over(base time.Duration, jitter float64) Retry {
	if !r.BaseSaid && r.Base == DefaultBase {
		r.Base = base
	}
	if !r.JitterSaid && r.Jitter == DefaultJitter {
		r.Jitter = jitter
	}
	return r
}

// DelayAfter returns the wait after a number of begun attempts, the last of which failed: twice the Delay for an
// overload, and at least the failure's Retry-After.
func (r Retry) DelayAfter(f *Failure, attempts int, roll float64) time.Duration {
	d := r.Delay(attempts, 0, roll)
	if failure.Overloaded(f.report()) {
		d *= 2
	}
	least := time.Duration(min(f.RetryAfterMS, MaxDelay.Milliseconds())) * time.Millisecond
	return min(max(d, least), MaxDelay)
}

// Delay returns the wait after a number of begun attempts, at least retryAfter. roll in [0,1) places the jitter.
func (r Retry) Delay(attempts int, retryAfter time.Duration, roll float64) time.Duration {
	base, n := float64(r.Base), float64(max(attempts, 1))
	var d float64
	switch r.Backoff {
	case BackoffFixed:
		d = base
	case BackoffLinear:
		d = base * n
	case BackoffExponential:
		// Beyond 2^62 the cap applies anyway, and infinity times 0 is NaN.
		d = base * math.Pow(2, math.Min(n-1, 62))
	}
	if r.Max > 0 {
		d = math.Min(d, float64(r.Max))
	}
	d *= 1 + r.Jitter*(2*roll-1)
	d = math.Min(max(d, float64(retryAfter), 0), float64(MaxDelay))
	return time.Duration(d).Round(time.Microsecond)
}
