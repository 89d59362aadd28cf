package clock

import "time"

// fresh is how old a testimony may be. Processes testify more often.
const fresh = 30 * time.Second

// Witness is what a process last said of the other clock, where other processes can read it.
type Witness struct {
	At    time.Time     // the time that it went by
	Ahead time.Duration // how far the other clock was ahead of that: a step that it did not believe yet; 0 for none
	Since time.Time     // when it noticed that step, in its time
	Young bool          // it had followed the other clock for less than a minute
}

// Testimony is what this process says to others.
func (c *Remote) Testimony() Witness {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.read()
	w := Witness{At: now, Ahead: c.doubt.apart, Young: c.young(r)}
	if w.Ahead != 0 {
		w.Since = now.Add(c.doubt.since - r.Mono)
	}
	return w
}

// young reports whether this process cannot tell a step from its own start. The caller holds mu.
func (c *Remote) young(r Reading) bool { return r.Mono-c.born < settle }

// shown is what the other clock showed when w testified.
func (w *Witness) shown() time.Time { return w.At.Add(w.Ahead) }

// best returns who is to be believed, nil for nobody: who testified a moment ago by the other clock, is not young, and
// believes the other clock most. A process that is not young and believes has seen no step, or seen it last.
func best(of []Witness, theirs time.Time, orYoung bool) (found *Witness) {
	for i := range of {
		w := &of[i]
		age := theirs.Sub(w.shown())
		switch {
		case age > fresh || age < -tolerance || w.Young && !orYoung:
		case found == nil, found.Young && !w.Young, found.Young == w.Young && w.Ahead.Abs() < found.Ahead.Abs():
			found = w
		}
	}
	return found
}

// begin takes the first measurement. There is nothing to compare it with but what others say and this machine's wall
// clock. What others go by counts. Without others, the other clock counts if the wall clock agrees; if not, a minute
// tells, and until then the time is the earlier one that is not before the last testimony, because work that is late
// by a minute can be caught up with, and what expired cannot.
func (c *Remote) begin(m measurement) {
	c.known, c.born, c.told = true, m.Mono, time.Time{}
	used := m.theirs
	if w := best(m.others, m.theirs, true); w != nil {
		used = c.adopt(w, m)
	} else if last := newest(m.others); !last.IsZero() && m.theirs.Sub(m.Wall).Abs() > tolerance+m.slack {
		plausible := !m.Wall.Before(last.Add(-tolerance))
		switch {
		case plausible && m.theirs.Before(last.Add(-tolerance)):
			used = last
		case plausible && m.theirs.After(m.Wall):
			used = m.Wall
		}
		if apart := m.theirs.Sub(used); apart != 0 {
			c.doubt.holds(apart, 0, m.Mono)
		}
	}
	c.set(m, used)
}

func newest(of []Witness) (at time.Time) {
	for i := range of {
		if of[i].At.After(at) {
			at = of[i].At
		}
	}
	return at
}

// adopt returns the time that another process goes by, and shares its doubt.
func (c *Remote) adopt(w *Witness, m measurement) time.Time {
	used := m.theirs.Add(-w.Ahead)
	if c.doubt = (doubt{}); w.Ahead != 0 {
		c.doubt = doubt{w.Ahead, m.Mono - used.Sub(w.Since)}
	}
	return used
}

// weigh decides about a measurement that differs from the expected time by more than the tolerance, or that of a young
// process. It returns the time to use, and false if that is still the expected one. The caller holds mu.
func (c *Remote) weigh(m measurement, expected time.Time) (used time.Time, believed bool) {
	off, about := m.theirs.Sub(expected), tolerance+m.slack
	w := best(m.others, m.theirs, false)
	if off.Abs() <= about {
		if c.doubt = (doubt{}); w != nil && w.Ahead.Abs() > about {
			return c.adopt(w, m), true // this process began in a step, and believed it
		}
		return m.theirs, true
	}
	noticed := c.doubt.apart != 0
	held := c.doubt.holds(off, m.slack, m.Mono)
	switch {
	case w == nil || off > about && !w.shown().After(expected.Add(tolerance)): // or it testified before the step
	case (w.Ahead - off).Abs() > about: // it goes by another time than this process
		used = c.adopt(w, m)
		if noticed {
			c.steps.add(expected, used.Sub(expected))
		} // if not, this process was left behind: the time has really passed
		return used, true
	default: // it has noticed the same step
		c.doubt.since = min(c.doubt.since, m.Mono-m.theirs.Add(-w.Ahead).Sub(w.Since))
		held = m.Mono-c.doubt.since >= settle
	}
	if !held {
		return expected, false
	}
	c.doubt = doubt{}
	c.steps.add(expected, off)
	return m.theirs, true
}
