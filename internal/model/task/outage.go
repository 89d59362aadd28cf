package task

import (
	"cmp"
	"fmt"
	"time"
)

// Outage is an incident on a route: many attempts failed there with one fingerprint within a short time. While it is
// open its route is closed, but for one step at a time, the probe. A route has at most one open outage.
type Outage struct {
	ID      ID    `json:"-"`
	RouteID int64 `json:"-"`
	// Namespace, Handler and Capabilities are those of the route; Capabilities is its Route.CapabilityKey.
	Namespace    string `json:"-"`
	Handler      string `json:"handler"`
	Capabilities string `json:"capabilities,omitempty"`
	// Group identifies the fingerprint: it is the group of the inbox of a failure for good. Title describes it.
	Group int64  `json:"group"`
	Title string `json:"title,omitempty"`
	// Failures is how many there were, less the successes between them, when it opened; Since is when they began.
	Failures int     `json:"failures"`
	Since    Instant `json:"since"`
	OpenedAt Instant `json:"opened_at"`
	// Version grows with every change.
	Version int64 `json:"version"`

	// ProbeNo grows with every reservation of a probe; Probes counts those for which there was a step.
	ProbeNo int64 `json:"probe_no,omitempty"`
	Probes  int   `json:"probes,omitempty"`
	// NextProbeAt is when the next one is let through, ProbeEvery the time between two now.
	NextProbeAt Instant       `json:"next_probe_at"`
	ProbeEvery  time.Duration `json:"probe_every"`
	// ProbeUntil is 0 unless a probe is reserved or under way: then somebody looks what became of it. ProbeStep is zero
	// while it is only reserved; ProbeToken is the token of its lease.
	ProbeUntil Instant `json:"probe_until,omitempty"`
	ProbeTask  ID      `json:"-"`
	ProbeStep  ID      `json:"-"`
	ProbeToken int64   `json:"probe_token,omitempty"`
	ProbeAt    Instant `json:"probe_at,omitempty"`
	// LastProbe is how the last probe ended, "" before.
	LastProbe   ProbeResult `json:"last_probe,omitempty"`
	LastProbeAt Instant     `json:"last_probe_at,omitempty"`
	// Spared counts the failures with its fingerprint that cost no attempt, those of probes included.
	Spared int `json:"spared,omitempty"`

	// ClosedAt is 0 while it is open.
	ClosedAt    Instant `json:"-"`
	ClosedBy    string  `json:"closed_by,omitempty"`
	CloseReason string  `json:"close_reason,omitempty"`
}

// ProbeResult is how a probe ended.
type ProbeResult string

// The results of probes.
const (
	ProbeSucceeded ProbeResult = "succeeded"
	ProbeFailed    ProbeResult = "failed"  // with whatever failure
	ProbeEmpty     ProbeResult = "no_step" // no step was ready on the route
	ProbeLost      ProbeResult = "lost"    // it was given back, cancelled, or its worker or node ended
)

// OutageRules are the rules by which outages open and are probed.
type OutageRules struct {
	// Failures with one fingerprint within Within open an outage. Each success on the route meanwhile takes one back.
	Failures int
	Within   time.Duration
	// ProbeEvery is the time until the first probe, and after one that told nothing. It doubles with each probe that
	// fails, up to ProbeAtMost.
	ProbeEvery  time.Duration
	ProbeAtMost time.Duration
}

// probeReserved is how long a reservation of a probe holds until the step is known.
const probeReserved = 15 * time.Second

// Farthest is how far off the next look at a probe may be.
func (r OutageRules) Farthest() time.Duration { return max(r.ProbeAtMost, probeReserved) }

// NewOutage returns an outage that opens now.
func NewOutage(id ID, r *Route, b Burst, title string, rules OutageRules, now Instant) *Outage {
	return &Outage{ID: id, RouteID: r.ID, Namespace: r.Namespace, Handler: r.Handler, Capabilities: r.CapabilityKey(),
		Group: b.Group, Title: title, Failures: b.Failures, Since: b.Since, OpenedAt: now, Version: 1,
		NextProbeAt: now.Add(rules.ProbeEvery), ProbeEvery: rules.ProbeEvery}
}

// Why says in a sentence why it opened.
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

// ProbeDue returns when somebody has to look for the next probe. A time farther off than rules allow comes from a clock
// that was put back since; then it is now.
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

// Reserve begins a probe, whose step is still to be found, and returns its number. The caller has checked that it is
// due and that the last probe has ended.
func (o *Outage) Reserve(now Instant) int64 {
	if o.ProbeStep != (ID{}) {
		o.endProbe(ProbeLost, now)
	}
	o.ProbeNo++
	o.ProbeUntil = now.Add(probeReserved)
	return o.ProbeNo
}

// StillRunning notes that the step of the probe is leased. Somebody looks again after a time.
func (o *Outage) StillRunning(now Instant, rules OutageRules) {
	o.ProbeUntil = now.Add(rules.ProbeEvery)
}

// Reserved reports whether the reservation of a number is the one in force.
func (o *Outage) Reserved(no int64) bool {
	return o.Open() && o.Probing() && o.ProbeNo == no && o.ProbeStep == ID{}
}

// Probe makes a step that has just been leased the one of the reserved probe.
func (o *Outage) Probe(s *Step, now Instant, rules OutageRules) {
	o.Probes++
	o.ProbeTask, o.ProbeStep, o.ProbeToken, o.ProbeAt = s.TaskID, s.ID, s.Token, now
	o.ProbeUntil = now.Add(rules.ProbeEvery)
}

// NoProbe ends a reservation for which no step was ready.
func (o *Outage) NoProbe(now Instant, rules OutageRules) {
	o.endProbe(ProbeEmpty, now)
	o.NextProbeAt = now.Add(rules.ProbeEvery)
}

// IsProbe reports whether the lease of a step is the probe.
func (o *Outage) IsProbe(step ID, token int64) bool {
	return step != ID{} && o.ProbeStep == step && o.ProbeToken == token
}

// Probed ends the probe. A success does not close the outage; see Close. After a failure the time to the next probe
// doubles, up to the bound of rules.
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

// Burst counts the failures with one fingerprint on a route. Group identifies the fingerprint.
type Burst struct {
	RouteID, Group int64
	Since          Instant // of the first failure that counts
	Failures       int     // less the successes since; at least 0
}

// Compare orders bursts by route, then fingerprint: all transactions lock them in this order.
func (b Burst) Compare(o Burst) int {
	return cmp.Or(cmp.Compare(b.RouteID, o.RouteID), cmp.Compare(b.Group, o.Group))
}

// Add counts more failures, less successes. What is older than within is forgotten, and so is a burst whose beginning
// lies in the future, because the clock was put back.
func (b Burst) Add(net int, now Instant, within time.Duration) Burst {
	if b.Failures == 0 || b.Since.Add(within) < now || b.Since > now {
		b.Since, b.Failures = now, 0
	}
	b.Failures = max(b.Failures+net, 0)
	return b
}
