package redisqueue

import (
	"fmt"
	"math"
	"time"
)

// RetryPolicy says how often a job is tried, and how long it waits in between. The delay after attempt n is
//
//	min(Base * Factor^(n-1), Max), and up to a quarter more with jitter
//
// The zero value of a field is its default.
type RetryPolicy struct {
	// MaxAttempts counts all attempts, the first included. 1 to 1000. Defaults to 3.
	MaxAttempts int
	// Base is the delay after the first attempt. 1ms to 24h. Defaults to 1s.
	Base time.Duration
	// Max bounds the delay, without the jitter. Base to 24h. Defaults to 30s, or Base if that is longer.
	Max time.Duration
	// Factor is the ratio of successive delays. 1 to 10. Defaults to 2.
	Factor float64
	// NoJitter switches off the jitter, which spreads jobs that failed together.
	NoJitter bool
}

const jitter = 0.25

const maxDelay = 24 * time.Hour

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = 3
	}
	if p.Base == 0 {
		p.Base = time.Second
	}
	if p.Max == 0 {
		p.Max = max(30*time.Second, p.Base)
	}
	if p.Factor == 0 {
		p.Factor = 2
	}
	return p
}

func (p RetryPolicy) check() error {
	switch {
	case p.MaxAttempts < 1 || p.MaxAttempts > 1000:
		return fmt.Errorf("RetryPolicy.MaxAttempts must be 1 to 1000, not %d", p.MaxAttempts)
	case p.Base < time.Millisecond || p.Base > maxDelay:
		return fmt.Errorf("RetryPolicy.Base must be 1ms to 24h, not %v", p.Base)
	case p.Max < p.Base || p.Max > maxDelay:
		return fmt.Errorf("RetryPolicy.Max must be Base (%v) to 24h, not %v", p.Base, p.Max)
	case !(p.Factor >= 1 && p.Factor <= 10):
		return fmt.Errorf("RetryPolicy.Factor must be 1 to 10, not %v", p.Factor)
	}
	return nil
}

// Delay returns how long a job waits after its attempt n, from 1. random is from 0 to below 1.
func (p RetryPolicy) Delay(n int, random float64) time.Duration {
	p = p.withDefaults()
	// A power that is too large for a float is +Inf, which Max bounds.
	d := min(float64(p.Base)*math.Pow(p.Factor, float64(max(n, 1)-1)), float64(p.Max))
	if !p.NoJitter {
		d *= 1 + jitter*random
	}
	return time.Duration(d)
}
