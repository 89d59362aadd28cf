package engine

import "sync/atomic"

// limits is what this process knows of gates, apart from their rows.
type limits struct {
	paced atomic.Bool // steps wait, or have waited, for the next moment of a rate
	check gateCheck
}

// Paced reports whether steps may pass the gates of rates at the times that NextDue receives.
func (e *Engine) Paced() bool { return e.limits.paced.Load() }
