package clock

import (
	"sync"
	"time"
)

const (
	// drift is how far the clocks of two machines diverge, at most, as a share of the elapsed time.
	drift = 500e-6
	// maxAge is how long a measurement is valid.
	maxAge = time.Minute
)

// Remote is the clock of another machine, as last measured, plus the monotonic time since. Neither a step of this
// machine's wall clock nor a slow answer changes it.
//
// It is safe for concurrent use.
type Remote struct {
	read func() Reading

	mu     sync.Mutex
	known  bool          // measured at least once
	base   Reading       // this machine's clocks when theirs showed at
	at     time.Time     // theirs
	slack  time.Duration // maximum error of at
	agreed Reading       // this machine's clocks at the last measurement, whether it corrected the clock or not
	told   time.Time
}

// NewRemote returns a clock that has not been measured yet and shows the machine's time until it has.
func NewRemote(read func() Reading) *Remote {
	r := read()
	return &Remote{read: read, base: r, at: r.Wall, agreed: r}
}

// Now returns the other machine's time. It never goes back, except by a correction of more than a second.
func (c *Remote) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.at.Add(c.read().Mono - c.base.Mono)
	if now.After(c.told) {
		c.told = now
	}
	return c.told
}

// Measure reads the other clock once: ask returns its time. That time lies between the question and the arrival of the
// answer, so the error is at most half of the round trip. Measure corrects the clock if the new measurement is more
// exact than the known one, or contradicts it: then a clock was stepped, or this machine slept. It returns the size of
// the correction.
func (c *Remote) Measure(ask func() (time.Time, error)) (corrected time.Duration, err error) {
	begun := c.read()
	theirs, err := ask()
	if err != nil {
		return 0, err
	}
	ended := c.read()
	slack := (ended.Mono - begun.Mono) / 2
	theirs = theirs.Add(slack) // at the end

	c.mu.Lock()
	defer c.mu.Unlock()
	passed := ended.Mono - c.base.Mono
	expected := c.at.Add(passed)
	allowed := c.slack + time.Duration(float64(passed)*drift)
	off := theirs.Sub(expected)
	c.agreed = ended
	if c.known && slack > allowed && off.Abs() <= slack+allowed {
		return 0, nil // it agrees, and the known measurement is more exact
	}
	first := !c.known
	c.known, c.base, c.at, c.slack = true, ended, theirs, slack
	if first || off < -tolerance {
		c.told = time.Time{}
	}
	if first {
		return 0, nil
	}
	return off, nil
}

// Sure reports whether the time is reliable: the other clock was measured within the last minute, and this machine's
// wall clock has not been stepped since.
func (c *Remote) Sure() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.read()
	passed := r.Mono - c.agreed.Mono
	return c.known && passed <= maxAge && (r.Wall.Sub(c.agreed.Wall)-passed).Abs() <= tolerance
}

// Offset returns how far this machine's wall clock is ahead of the other one.
func (c *Remote) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.read()
	return r.Wall.Sub(c.at.Add(r.Mono - c.base.Mono))
}
