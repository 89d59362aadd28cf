package clock

import "time"

// fresh is the maximal age of a testimony. Processes testify more often.
const fresh = 30 * time.Second

// Witness is the last testimony of a process about the other clock, readable by other processes.
type Witness struct {
	At    time.Time     // the time that it went by
	Ahead time.Duration // how far the other clock was ahead of At by an unbelieved step; 0 for none
	Since time.Time     // the discovery of that step, in the process's time
	Young bool          // it had followed the other clock for less than a minute
}

// Testimony is this process's Witness.
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

// young reports whether this process cannot distinguish a step from its own start. The caller holds mu.
func (c *Remote) young(r Reading) bool { return r.Mono-c.born < settle }

// shown is the other clock at the testimony.
func (w *Witness) shown() time.Time { return w.At.Add(w.Ahead) }

// best returns the credible witness, nil for none: fresh by the other clock, not young, and with the smallest
// unbelieved step. An old process that believes has seen no step, or believed it last.
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

// begin takes the first measurement, to compare with testimonies and this machine's wall clock. Testimonies decide.
// Without any, the other clock counts if the wall clock agrees; else a minute decides, and until then the time is the
// earlier one that is not before the last testimony: work that is late by a minute can catch up, an expiry cannot be
// undone.
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

// adopt returns another process's time, and shares its doubt.
func (c *Remote) adopt(w *Witness, m measurement) time.Time {
	used := m.theirs.Add(-w.Ahead)
	if c.doubt = (doubt{}); w.Ahead != 0 {
		c.doubt = doubt{w.Ahead, m.Mono - used.Sub(w.Since)}
	}
	return used
}

// weigh decides about a measurement beyond the tolerance, or of a young process. It returns the time to use; false if
// still the expected one. The caller holds mu.
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
	case (w.Ahead - off).Abs() > about: // it has another time than this process
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
