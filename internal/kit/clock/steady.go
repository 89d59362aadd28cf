package clock

import (
	"sync"
	"time"
)

// Reading is the time of a machine's two clocks at one moment.
type Reading struct {
	Wall time.Time     // the time of day; it may jump
	Mono time.Duration // since some moment; it never jumps
}

// Machine returns a source of readings of this machine's clocks.
func Machine() func() Reading {
	start := time.Now()
	return func() Reading {
		now := time.Now()
		return Reading{Wall: now.Round(0), Mono: now.Sub(start)}
	}
}

// Steady is the wall clock of a machine without its glitches. A step of more than a second is believed after it has
// lasted for a minute; until then time continues without it. Smaller differences apply immediately, but never turn the
// time back.
//
// It is safe for concurrent use.
type Steady struct {
	read func() Reading

	mu    sync.Mutex
	base  Reading // Wall is the shown time at Mono
	told  time.Time
	doubt doubt
	steps steps
}

// NewSteady returns a clock that shows the machine's time. read is a source of readings; see Machine.
func NewSteady(read func() Reading) *Steady {
	first := read()
	return &Steady{read: read, base: first, told: first.Wall}
}

// Now returns the time of day.
func (c *Steady) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.read()
	now := c.base.Wall.Add(r.Mono - c.base.Mono)
	switch apart := r.Wall.Sub(now); {
	case apart.Abs() <= tolerance:
		c.base, c.doubt, now = r, doubt{}, r.Wall
	case c.doubt.holds(apart, 0, r.Mono):
		c.steps.add(now, apart)
		c.base, c.doubt, now, c.told = r, doubt{}, r.Wall, r.Wall
	}
	if now.After(c.told) {
		c.told = now
	}
	return c.told
}

// Stepped returns how far the clock was put forward since a time that it showed: really elapsed time is shorter by
// that.
func (c *Steady) Stepped(since time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.steps.since(since)
}

// Suspected returns how far the machine's wall clock was ahead at the last call of Now, by an unbelieved step; 0 for
// none.
func (c *Steady) Suspected() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doubt.apart
}
