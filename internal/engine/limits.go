package engine

import "sync/atomic"

// limits are the limits that operators have set, as this process knows them.
type limits struct {
	paced atomic.Bool // steps wait, or have waited, for the next moment of a rate
	check gateCheck
}

// Paced reports whether steps may pass the gates of rates at the times that NextDue receives.
func (e *Engine) Paced() bool { return e.limits.paced.Load() }

// any reports whether there are limits of operators.
func (l *limits) any() bool { return false }

// of returns the gates of a route.
func (l *limits) of(int64) []Gate { return nil }
