package settings

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// OutageBreaker opens an outage, which holds a route back, after many failures with one fingerprint on it.
type OutageBreaker struct {
	// Enabled opens outages. Without it open ones still hold their routes back and are probed.
	Enabled Switch
	// Failures with one fingerprint within Within open an outage; each success on the route takes one back.
	Failures int
	Within   time.Duration
	// ProbeInterval is the time until the first probe step. It doubles after each failed probe, up to
	// MaxProbeInterval.
	ProbeInterval    time.Duration
	MaxProbeInterval time.Duration
}

const (
	maxOutageFailures = 100_000
	maxOutageWindow   = 24 * time.Hour
	maxOutageProbe    = 24 * time.Hour
)

func (b *OutageBreaker) setDefaults() {
	orDefault(&b.Enabled, Off)
	orDefault(&b.Failures, 20)
	orDefault(&b.Within, time.Minute)
	orDefault(&b.ProbeInterval, 10*time.Second)
	orDefault(&b.MaxProbeInterval, max(5*time.Minute, b.ProbeInterval))
}

func (b OutageBreaker) validate(bad func(ok bool, format string, args ...any)) {
	bad(b.Enabled.valid(), "outage_breaker.enabled must be true or false, not %q", b.Enabled)
	bad(b.Failures > 0 && b.Failures <= maxOutageFailures, "outage_breaker.failures must be 1 to %d", maxOutageFailures)
	bad(b.Within >= time.Second && b.Within <= maxOutageWindow, "outage_breaker.within must be 1s to %s", maxOutageWindow)
	bad(b.ProbeInterval >= 100*time.Millisecond && b.ProbeInterval <= maxOutageProbe,
		"outage_breaker.probe_interval must be 100ms to %s", maxOutageProbe)
	bad(b.MaxProbeInterval >= b.ProbeInterval && b.MaxProbeInterval <= maxOutageProbe,
		"outage_breaker.max_probe_interval must be at least probe_interval, and at most %s", maxOutageProbe)
}

// Rules returns the settings as the rules of the domain.
func (b OutageBreaker) Rules() task.OutageRules {
	return task.OutageRules{Failures: b.Failures, Within: b.Within, ProbeEvery: b.ProbeInterval,
		ProbeAtMost: b.MaxProbeInterval}
}
