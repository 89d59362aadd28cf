package clock

import (
	"sync"
	"time"
)

const (
	// drift bounds the divergence of two machines' clocks, as a share of the elapsed time.
	drift = 500e-6
	// maxAge is how long a measurement is valid.
	maxAge = time.Minute
)

// Remote is the clock of another machine, as last measured, plus the monotonic time since. Neither a step of this
// machine's wall clock nor a slow answer changes it. A step of the other clock is believed after a minute, or
// immediately if other processes show that this one was left behind; see witness.go.
//
// It is safe for concurrent use.
type Remote struct {
	read func() Reading

	mu     sync.Mutex
	known  bool          // measured at least once
	base   Reading       // this machine's clocks when theirs showed at
	at     time.Time     // theirs, without an unbelieved step
	slack  time.Duration // maximum error of at
	agreed Reading       // this machine's clocks at the last measurement, with or without a correction
	told   time.Time
	doubt  doubt
	steps  steps
	born   time.Duration // the monotonic time of the first measurement
}

// NewRemote returns a clock that shows the machine's time until the first measurement.
func NewRemote(read func() Reading) *Remote {
	r := read()
	return &Remote{read: read, base: r, at: r.Wall, agreed: r}
}

// Now returns the other machine's time. It never goes back, except by a correction of more than a second.
func (c *Remote) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.expected(c.read())
	if now.After(c.told) {
		c.told = now
	}
	return c.told
}

// expected is the estimate at a reading. The caller holds mu.
func (c *Remote) expected(r Reading) time.Time { return c.at.Add(r.Mono - c.base.Mono) }

// measurement is the other clock at a reading of ours.
type measurement struct {
	Reading
	theirs time.Time
	slack  time.Duration // maximum error of theirs
	others []Witness
}

// Measure reads the other clock once: ask returns its time and the testimonies of others. That time lies between the
// call and its return, so the error is at most half of the round trip. Measure corrects the clock if the new
// measurement is more exact, contradicts the known one by a little, or contradicts it by more than a second for long
// enough. It returns the size of the correction.
func (c *Remote) Measure(ask func() (time.Time, []Witness, error)) (corrected time.Duration, err error) {
	begun := c.read()
	theirs, others, err := ask()
	if err != nil {
		return 0, err
	}
	ended := c.read()
	slack := (ended.Mono - begun.Mono) / 2
	m := measurement{Reading: ended, theirs: theirs.Add(slack), slack: slack, others: others}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.agreed = ended
	if !c.known {
		c.begin(m)
		return 0, nil
	}
	allowed := c.slack + time.Duration(float64(ended.Mono-c.base.Mono)*drift)
	expected := c.expected(ended)
	off := m.theirs.Sub(expected)
	used, believed := m.theirs, true
	if off.Abs() > tolerance+slack || c.young(ended) {
		used, believed = c.weigh(m, expected)
	} else {
		c.doubt = doubt{}
	}
	if off = used.Sub(expected); !believed || slack > allowed && off.Abs() <= slack+allowed {
		return 0, nil // it agrees, and the known measurement is more exact
	}
	c.set(m, used)
	if off < -tolerance {
		c.told = time.Time{}
	}
	return off, nil
}

// The caller of set holds mu.
func (c *Remote) set(m measurement, used time.Time) { c.base, c.at, c.slack = m.Reading, used, m.slack }

// Sure reports whether the time is reliable: measured within the last minute, without a step of this machine's wall
// clock since.
func (c *Remote) Sure() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.read()
	passed := r.Mono - c.agreed.Mono
	return c.known && passed <= maxAge && (r.Wall.Sub(c.agreed.Wall)-passed).Abs() <= tolerance
}

// Offset returns how far this machine's wall clock is ahead of the time.
func (c *Remote) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.read()
	return r.Wall.Sub(c.expected(r))
}

// Stepped is as for Steady.
func (c *Remote) Stepped(since time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.steps.since(since)
}

// Suspected returns how far the other clock is ahead by an unbelieved step; 0 for none.
func (c *Remote) Suspected() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doubt.apart
}
