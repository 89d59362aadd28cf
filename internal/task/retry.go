package task

import (
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/failure"
)

// Backoff is how the delay between attempts grows.
type Backoff string

// The back-off strategies.
const (
	BackoffNone        Backoff = "none"        // no delay
	BackoffFixed       Backoff = "fixed"       // base
	BackoffLinear      Backoff = "linear"      // base * attempts
	BackoffExponential Backoff = "exponential" // base * 2^(attempts-1)
)

// Backoffs lists the strategies.
var Backoffs = []Backoff{BackoffNone, BackoffFixed, BackoffLinear, BackoffExponential}

// Retry says whether, how often and after what delay a failed attempt is repeated.
type Retry struct {
	// Retryable false means one attempt only.
	Retryable bool
	// MaxAttempts includes the first. 0 takes the priority level's.
	MaxAttempts int
	Backoff     Backoff
	Base        time.Duration
	// Max caps the delay before jitter. 0 takes the priority level's.
	Max time.Duration
	// Jitter is the fraction of the delay by which it varies, both ways: 0.1 is ±10 %.
	Jitter float64
	// Limits bound the retries after failures of a class.
	Limits ClassLimits `json:",omitzero"`
	// BaseSaid and JitterSaid tell a value that somebody chose from the same one that
	// is there because nobody did. Templates that were stored without them have only
	// chosen what is not the default.
	BaseSaid   bool `json:",omitempty"`
	JitterSaid bool `json:",omitempty"`
}

// Defaults of a retry block; a step without one has them all.
const (
	DefaultBackoff = BackoffExponential
	DefaultBase    = time.Second
	DefaultJitter  = 0.1
	// MaxDelay caps every delay, a Retry-After included, so that a worker's typing
	// error cannot park a step for years.
	MaxDelay = 30 * 24 * time.Hour
)

// DefaultRetry is the policy of a step that has none of its own.
func DefaultRetry() Retry {
	return Retry{Retryable: true, Backoff: DefaultBackoff, Base: DefaultBase, Jitter: DefaultJitter}
}

// Over returns the policy with these in place of the base and the jitter that nobody
// chose.
func (r Retry) Over(base time.Duration, jitter float64) Retry {
	if !r.BaseSaid && r.Base == DefaultBase {
		r.Base = base
	}
	if !r.JitterSaid && r.Jitter == DefaultJitter {
		r.Jitter = jitter
	}
	return r
}

// DelayAfter returns how long to wait after the given number of attempts begun, the
// last of which failed: twice the Delay where the failure's code says that there
// were too many already, and at least as long as it asks for.
func (r Retry) DelayAfter(f *Failure, attempts int, roll float64) time.Duration {
	d := r.Delay(attempts, 0, roll)
	if failure.Overloaded(f.report()) {
		d *= 2
	}
	least := time.Duration(min(f.RetryAfterMS, MaxDelay.Milliseconds())) * time.Millisecond
	return min(max(d, least), MaxDelay)
}

// Delay returns how long to wait after the given number of attempts begun, at
// least retryAfter. roll is a random number in [0,1) that places the jitter.
func (r Retry) Delay(attempts int, retryAfter time.Duration, roll float64) time.Duration {
	base, n := float64(r.Base), float64(max(attempts, 1))
	var d float64
	switch r.Backoff {
	case BackoffFixed:
		d = base
	case BackoffLinear:
		d = base * n
	case BackoffExponential:
		// Beyond 2^62 it is at its cap anyway, and infinity times 0 is no number.
		d = base * math.Pow(2, math.Min(n-1, 62))
	}
	if r.Max > 0 {
		d = math.Min(d, float64(r.Max))
	}
	d *= 1 + r.Jitter*(2*roll-1)
	d = math.Min(max(d, float64(retryAfter), 0), float64(MaxDelay))
	return time.Duration(d).Round(time.Microsecond)
}
