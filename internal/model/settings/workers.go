package settings

import (
	"net/netip"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// WorkerProbes configures health probes of workers with a health URL.
type WorkerProbes struct {
	Enabled bool
	// Interval is the interval of the probes of each worker.
	Interval time.Duration
	// Timeout bounds one answer.
	Timeout time.Duration
	// UnhealthyAfter failures in a row a worker gets no steps until a probe succeeds.
	UnhealthyAfter int
	// Concurrency bounds the probes in flight.
	Concurrency int
	// Allow lists the networks (CIDR) in which workers are probed: by default loopback and private ones, without
	// link-local addresses.
	Allow []string
}

// BreakerCount selects the failed attempts that count against a worker.
type BreakerCount string

const (
	// CountWorker means: failures caused by the worker rather than the step. See task.WorkersFault.
	CountWorker BreakerCount = "worker"
	// CountAny means: all failures, but a permanent one only while no other worker fails on the same route.
	CountAny BreakerCount = "any"
)

// WorkerBreaker stops giving work to a worker that keeps failing.
type WorkerBreaker struct {
	// Failures in a row open the breaker; -1 is never.
	Failures int
	// OpenFor is how long the worker then gets no steps.
	OpenFor time.Duration
	// HalfOpen is the number of attempts tried after each further OpenFor. The first success closes the breaker; it
	// opens again when all have failed.
	HalfOpen int
	Count    BreakerCount
}

var localNetworks = [...]string{"127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"}

const (
	maxProbeTimeout     = 30 * time.Second
	maxProbeConcurrency = 1000
)

func (p *WorkerProbes) setDefaults() {
	orDefault(&p.Interval, time.Minute)
	orDefault(&p.Timeout, 5*time.Second)
	orDefault(&p.UnhealthyAfter, 2)
	orDefault(&p.Concurrency, 32)
	if len(p.Allow) == 0 {
		p.Allow = localNetworks[:]
	}
}

func (p WorkerProbes) validate(bad func(ok bool, format string, args ...any)) {
	bad(p.Interval > 0, "worker_probes.interval must be positive")
	bad(p.Timeout > 0 && p.Timeout <= maxProbeTimeout, "worker_probes.timeout must be positive, and at most %s",
		maxProbeTimeout)
	bad(p.UnhealthyAfter > 0, "worker_probes.unhealthy_after must be positive")
	bad(p.Concurrency > 0 && p.Concurrency <= maxProbeConcurrency, "worker_probes.concurrency must be 1 to %d",
		maxProbeConcurrency)
	for i, a := range p.Allow {
		_, err := netip.ParsePrefix(a)
		bad(err == nil, "worker_probes.allow[%d] must be a network such as 10.0.0.0/8, not %q", i, a)
	}
}

func (b *WorkerBreaker) setDefaults() {
	orDefault(&b.Failures, 5)
	orDefault(&b.OpenFor, time.Minute)
	orDefault(&b.HalfOpen, 3)
	orDefault(&b.Count, CountWorker)
}

func (b WorkerBreaker) validate(bad func(ok bool, format string, args ...any)) {
	bad(b.Failures == -1 || b.Failures > 0, "worker_breaker.failures must be positive, or -1")
	bad(b.OpenFor > 0, "worker_breaker.open_for must be positive")
	bad(b.HalfOpen > 0, "worker_breaker.half_open must be positive")
	bad(b.Count == CountWorker || b.Count == CountAny, "worker_breaker.count must be worker or any, not %q", b.Count)
}

// HealthRule returns WorkerHealth with a Silence of at least one and a half heartbeats.
func (c *Config) HealthRule() task.HealthRule {
	r := c.WorkerHealth
	r.Silence = max(r.Silence, c.Leases.HeartbeatInterval*3/2)
	return r
}

func validateHealth(r task.HealthRule, bad func(ok bool, format string, args ...any)) {
	bad(r.Silence > 0, "worker_health.silence must be positive")
	for name, of := range map[string][2]int{"failures": {r.DegradedFailures, r.UnhealthyFailures},
		"depth": {r.DegradedDepth, r.UnhealthyDepth}, "rate": {r.DegradedRate, r.UnhealthyRate}} {
		bad(of[0] > 0, "worker_health.degraded_%s must be positive", name)
		bad(of[1] >= of[0], "worker_health.unhealthy_%s must not be below worker_health.degraded_%s", name, name)
	}
	bad(r.MinEnded > 0, "worker_health.min_ended must be positive")
}
