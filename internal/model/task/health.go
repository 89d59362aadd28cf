package task

import (
	"cmp"
	"fmt"
	"time"
)

// WorkerHealth ranks workers for dispatch.
type WorkerHealth string

// The healths of workers, best first.
const (
	HealthHealthy   WorkerHealth = "healthy"
	HealthDegraded  WorkerHealth = "degraded"
	HealthUnhealthy WorkerHealth = "unhealthy" // never chosen
)

// Worse reports whether h is worse than other.
func (h WorkerHealth) Worse(other WorkerHealth) bool { return h.rank() > other.rank() }

func (h WorkerHealth) rank() int {
	switch h {
	case HealthHealthy:
		return 0
	case HealthDegraded:
		return 1
	default:
		return 2
	}
}

// HealthFacts are a worker's recent results.
type HealthFacts struct {
	LastHeartbeat Instant
	Failures      int
	// Depth counts assigned steps that have not started.
	Depth         int
	Ended, Failed int
}

// HealthRule are the thresholds of a worker's health. Zero fields take defaults.
type HealthRule struct {
	// Silence is the age of the last heartbeat that makes a worker unhealthy.
	Silence                             time.Duration
	DegradedFailures, UnhealthyFailures int
	DegradedDepth, UnhealthyDepth       int
	DegradedRate, UnhealthyRate         int
	MinEnded                            int
}

// WithDefaults replaces zero fields by their defaults.
func (r HealthRule) WithDefaults() HealthRule {
	r.Silence = cmp.Or(r.Silence, 30*time.Second)
	r.DegradedFailures, r.UnhealthyFailures = cmp.Or(r.DegradedFailures, 3), cmp.Or(r.UnhealthyFailures, 10)
	r.DegradedDepth, r.UnhealthyDepth = cmp.Or(r.DegradedDepth, 50), cmp.Or(r.UnhealthyDepth, 100)
	r.DegradedRate, r.UnhealthyRate = cmp.Or(r.DegradedRate, 30), cmp.Or(r.UnhealthyRate, 70)
	r.MinEnded = cmp.Or(r.MinEnded, 5)
	return r
}

// Health returns the worst health of all facts, with reasons unless healthy. The rule must have its defaults.
func (r HealthRule) Health(f HealthFacts, now Instant) (WorkerHealth, []string) {
	health := HealthHealthy
	var reasons []string
	is := func(h WorkerHealth, format string, args ...any) {
		if h == HealthHealthy {
			return
		}
		if h.Worse(health) {
			health = h
		}
		reasons = append(reasons, fmt.Sprintf(format, args...))
	}
	if silence := now.Sub(f.LastHeartbeat); silence >= r.Silence {
		is(HealthUnhealthy, "its last heartbeat is %s old", silence.Truncate(time.Second))
	}
	is(level(f.Failures, r.DegradedFailures, r.UnhealthyFailures), "its last %d attempts failed", f.Failures)
	is(level(f.Depth, r.DegradedDepth, r.UnhealthyDepth), "%d assigned steps wait to be started", f.Depth)
	if f.Ended >= r.MinEnded {
		rate := 100 * f.Failed / f.Ended
		is(level(rate, r.DegradedRate, r.UnhealthyRate), "%d of its last %d attempts failed", f.Failed, f.Ended)
	}
	return health, reasons
}

func level(n, degraded, unhealthy int) WorkerHealth {
	switch {
	case n >= unhealthy:
		return HealthUnhealthy
	case n >= degraded:
		return HealthDegraded
	}
	return HealthHealthy
}
