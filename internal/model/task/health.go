package task

import (
	"cmp"
	"fmt"
	"time"
)

// WorkerHealth is how well a worker does, for the choice among workers.
type WorkerHealth string

// The healths of workers, best first.
const (
	HealthHealthy   WorkerHealth = "healthy"
	HealthDegraded  WorkerHealth = "degraded"  // asked after healthy workers
	HealthUnhealthy WorkerHealth = "unhealthy" // not asked
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

// HealthFacts is what is known of a worker's recent work.
type HealthFacts struct {
	LastHeartbeat Instant
	// Failures is the number of attempts that failed in a row.
	Failures int
	// Depth is the number of steps that are assigned to it and not started.
	Depth int
	// Ended and Failed count the attempts that ended lately, and those of them that failed.
	Ended, Failed int
}

// HealthRule are the thresholds of a worker's health. Zero fields have defaults.
type HealthRule struct {
	// Silence is the age of the last heartbeat from which a worker is unhealthy. Defaults to 30 s.
	Silence time.Duration
	// DegradedFailures and UnhealthyFailures are failures in a row. Default to 3 and 10.
	DegradedFailures, UnhealthyFailures int
	// DegradedDepth and UnhealthyDepth are steps that are assigned and not started. Default to 50 and 100.
	DegradedDepth, UnhealthyDepth int
	// DegradedRate and UnhealthyRate are the share of attempts that failed, in percent. Default to 30 and 70.
	DegradedRate, UnhealthyRate int
	// MinEnded is the number of attempts below which there is no rate. Defaults to 5.
	MinEnded int
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

// Health returns the health of a worker, the worst that one of the facts gives it, and the reasons in words; none for
// a healthy one. The rule has its defaults.
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

// level is the health that a number gives, from two thresholds.
func level(n, degraded, unhealthy int) WorkerHealth {
	switch {
	case n >= unhealthy:
		return HealthUnhealthy
	case n >= degraded:
		return HealthDegraded
	}
	return HealthHealthy
}
