package clock

import (
	"sync"
	"time"
)

const (
	// tolerance is how far two clocks may differ before the difference counts as a step. Slewing stays far below it.
	tolerance = time.Second
	// settle is how long a step of the wall clock has to last before it is believed.
	settle = time.Minute
	// maxSteps bounds the steps that are remembered singly.
	maxSteps = 64
)

// Reading is the time of a machine's two clocks at one moment.
type Reading struct {
	Wall time.Time     // the time of day; it may jump
	Mono time.Duration // the time since some moment; it never jumps
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
// lasted for a minute; until then time continues as if there had been none. Smaller differences are adopted at once,
// but the time never goes back because of one.
//
// It is safe for concurrent use.
type Steady struct {
	read func() Reading

	mu    sync.Mutex
	base  Reading // Wall is what the clock showed at Mono
	told  time.Time
	apart time.Duration // size of the suspected step; 0: none
	since time.Duration // the monotonic time at which it was noticed
	steps []step
}

// step is a correction of a clock by more than the tolerance.
type step struct {
	from time.Time // what the clock showed before
	by   time.Duration
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
		c.base, c.apart, now = r, 0, r.Wall
	case c.apart == 0 || (apart-c.apart).Abs() > tolerance:
		c.apart, c.since = apart, r.Mono
	case r.Mono-c.since >= settle:
		c.steps = append(c.steps, step{now, apart})
		c.steps = c.steps[max(0, len(c.steps)-maxSteps):]
		c.base, c.apart, now, c.told = r, 0, r.Wall, r.Wall
	}
	if now.After(c.told) {
		c.told = now
	}
	return c.told
}

// Stepped returns how far the clock was put forward since a time that it showed: really elapsed time is shorter by that
// much.
func (c *Steady) Stepped(since time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sum time.Duration
	for _, s := range c.steps {
		if s.by > 0 && !s.from.Before(since) {
			sum += s.by
		}
	}
	return sum
}
