package task

import (
	"cmp"
	"fmt"
	"time"
)

// Outage is an incident on a route: many attempts failed with one fingerprint within a short time. Until it closes,
// the route admits only one step at a time, the probe. A route has at most one open outage.
type Outage struct {
	ID           ID     `json:"-"`
	RouteID      int64  `json:"-"`
	Namespace    string `json:"-"`
	Handler      string `json:"handler"`
	Capabilities string `json:"capabilities,omitempty"`
	// Group is the inbox group of the fingerprint's permanent failures. Title describes it.
	Group int64  `json:"group"`
	Title string `json:"title,omitempty"`
	// Failures at its opening, less the successes between them, counted from Since.
	Failures int     `json:"failures"`
	Since    Instant `json:"since"`
	OpenedAt Instant `json:"opened_at"`
	Version  int64   `json:"version"`

	// ProbeNo grows with every reservation of a probe; Probes counts those with a step.
	ProbeNo     int64         `json:"probe_no,omitempty"`
	Probes      int           `json:"probes,omitempty"`
	NextProbeAt Instant       `json:"next_probe_at"`
	ProbeEvery  time.Duration `json:"probe_every"`
	// ProbeUntil is when to check a reserved or running probe; 0 for none. ProbeStep is zero while it is only
	// reserved; ProbeToken is its lease's.
	ProbeUntil  Instant     `json:"probe_until,omitempty"`
	ProbeTask   ID          `json:"-"`
	ProbeStep   ID          `json:"-"`
	ProbeToken  int64       `json:"probe_token,omitempty"`
	ProbeAt     Instant     `json:"probe_at,omitempty"`
	LastProbe   ProbeResult `json:"last_probe,omitempty"`
	LastProbeAt Instant     `json:"last_probe_at,omitempty"`
	// Spared counts failures with its fingerprint that cost no attempt, including probes.
	Spared int `json:"spared,omitempty"`

	ClosedAt    Instant `json:"-"`
	ClosedBy    string  `json:"closed_by,omitempty"`
	CloseReason string  `json:"close_reason,omitempty"`
}

// ProbeResult is how a probe ended.
type ProbeResult string

// The results of probes.
const (
	ProbeSucceeded ProbeResult = "succeeded"
	ProbeFailed    ProbeResult = "failed"
	ProbeEmpty     ProbeResult = "no_step"
	ProbeLost      ProbeResult = "lost" // released, cancelled, or its worker or node ended
)

// OutageRules open and probe outages.
type OutageRules struct {
	// Failures with one fingerprint within Within open an outage. Each success on the route takes one back.
	Failures int
	Within   time.Duration
	// ProbeEvery is the time until the first probe, and after one without a result. It doubles after each failed
	// probe, up to ProbeAtMost.
	ProbeEvery  time.Duration
	ProbeAtMost time.Duration
}

const probeReserved = 15 * time.Second

// Farthest bounds the time until the next look at a probe.
func (r OutageRules) Farthest() time.Duration { return max(r.ProbeAtMost, probeReserved) }

// NewOutage returns an outage that opens now.
func NewOutage(id ID, r *Route, b Burst, title string, rules OutageRules, now Instant) *Outage {
	return &Outage{ID: id, RouteID: r.ID, Namespace: r.Namespace, Handler: r.Handler, Capabilities: r.CapabilityKey(),
		Group: b.Group, Title: title, Failures: b.Failures, Since: b.Since, OpenedAt: now, Version: 1,
		NextProbeAt: now.Add(rules.ProbeEvery), ProbeEvery: rules.ProbeEvery}
}

// Why explains its opening in a sentence.
func (o *Outage) Why() string {
	text := fmt.Sprintf("%d failures with one fingerprint within %s", o.Failures,
		o.OpenedAt.Sub(o.Since).Round(time.Millisecond))
	if o.Title != "" {
		text += ": " + o.Title
	}
	return text
}

// Route returns the name of its route.
func (o *Outage) Route() Route {
	return Route{ID: o.RouteID, Namespace: o.Namespace, Handler: o.Handler,
		Capabilities: SplitCapabilities(o.Capabilities)}
}

// Open reports whether it holds its route back.
func (o *Outage) Open() bool { return o.ClosedAt == 0 }

// Probing reports whether a probe is reserved or under way.
func (o *Outage) Probing() bool { return o.ProbeUntil != 0 }

// ProbeDue returns when to look for the next probe: now if the time is beyond the rules, because the clock was put
// back.
func (o *Outage) ProbeDue(now Instant, rules OutageRules) Instant {
	at := o.NextProbeAt
	if o.Probing() {
		at = o.ProbeUntil
	}
	if at > now.Add(rules.Farthest()) {
		return now
	}
	return at
}

// Reserve begins a probe without a step and returns its number. The caller has checked that it is due and that no
// probe runs.
func (o *Outage) Reserve(now Instant) int64 {
	if o.ProbeStep != (ID{}) {
		o.endProbe(ProbeLost, now)
	}
	o.ProbeNo++
	o.ProbeUntil = now.Add(probeReserved)
	return o.ProbeNo
}

// StillRunning schedules the next check of a leased probe.
func (o *Outage) StillRunning(now Instant, rules OutageRules) {
	o.ProbeUntil = now.Add(rules.ProbeEvery)
}

// Reserved reports whether a reservation is the current one.
func (o *Outage) Reserved(no int64) bool {
	return o.Open() && o.Probing() && o.ProbeNo == no && o.ProbeStep == ID{}
}

// Probe assigns a newly leased step to the reserved probe.
func (o *Outage) Probe(s *Step, now Instant, rules OutageRules) {
	o.Probes++
	o.ProbeTask, o.ProbeStep, o.ProbeToken, o.ProbeAt = s.TaskID, s.ID, s.Token, now
	o.ProbeUntil = now.Add(rules.ProbeEvery)
}

// NoProbe ends a reservation without a ready step.
func (o *Outage) NoProbe(now Instant, rules OutageRules) {
	o.endProbe(ProbeEmpty, now)
	o.NextProbeAt = now.Add(rules.ProbeEvery)
}

// IsProbe reports whether the lease of a step is the probe.
func (o *Outage) IsProbe(step ID, token int64) bool {
	return step != ID{} && o.ProbeStep == step && o.ProbeToken == token
}

// Probed ends the probe. A success does not close the outage; see Close. A failure doubles the interval.
func (o *Outage) Probed(how ProbeResult, now Instant, rules OutageRules) {
	o.endProbe(how, now)
	if how == ProbeFailed {
		o.ProbeEvery = min(max(2*o.ProbeEvery, rules.ProbeEvery), rules.ProbeAtMost)
	} else {
		o.ProbeEvery = rules.ProbeEvery
	}
	o.NextProbeAt = now.Add(o.ProbeEvery)
}

func (o *Outage) endProbe(how ProbeResult, now Instant) {
	o.ProbeTask, o.ProbeStep, o.ProbeToken, o.ProbeAt, o.ProbeUntil = ID{}, ID{}, 0, 0, 0
	o.LastProbe, o.LastProbeAt = how, now
}

// Close ends the outage.
func (o *Outage) Close(now Instant, actor, reason string) {
	o.ClosedAt, o.ClosedBy, o.CloseReason = max(now, 1), actor, reason
	o.ProbeUntil = 0
}

// Burst counts the failures with one fingerprint, that of Group, on a route.
type Burst struct {
	RouteID, Group int64
	Since          Instant
	Failures       int // less the successes since; at least 0
}

// Compare orders bursts by route, then fingerprint: the lock order of all transactions.
func (b Burst) Compare(o Burst) int {
	return cmp.Or(cmp.Compare(b.RouteID, o.RouteID), cmp.Compare(b.Group, o.Group))
}

// Add counts failures less successes. It drops a burst older than within, and one in the future, because the clock
// was put back.
func (b Burst) Add(net int, now Instant, within time.Duration) Burst {
	if b.Failures == 0 || b.Since.Add(within) < now || b.Since > now {
		b.Since, b.Failures = now, 0
	}
	b.Failures = max(b.Failures+net, 0)
	return b
}
