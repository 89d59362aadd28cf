package crashtest

import "github.com/google/uuid"

// Gap is a time that the database lost: a lagging asynchronous standby took over, or a backup was swapped in.
// Acknowledged effects in it may be lost; no others.
type Gap struct {
	From int64 // everything acknowledged up to here is in the surviving database
	To   int64 // calls that begin behind this are answered by the surviving database
}

// Now is the time on the Journal's counter: earlier acknowledgements have ended before it.
func (j *Journal) Now() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.counter
}

// WentBack notes that the database went back to a time. The former one must be unable to answer, and the surviving one
// must not answer yet.
func (j *Journal) WentBack(from int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Gaps = append(j.Gaps, Gap{From: from, To: j.counter})
}

func (j *Journal) inGap(s Span) bool {
	for _, g := range j.Gaps {
		if s.End > g.From && s.Begin <= g.To {
			return true
		}
	}
	return false
}

// gaps gives calls accepted in a gap an unknown effect, and drops their hand-outs. First it checks that no step was
// settled twice before a gap.
func (c *checker) gaps(j *Journal, found []Found) *Journal {
	if len(j.Gaps) == 0 {
		return j
	}
	c.settledOnceBefore(j)
	there := map[uuid.UUID]bool{}
	for i := range found {
		there[found[i].Task.TaskUUID] = true
	}
	known := &Journal{Faults: j.Faults, Ends: j.Ends, Foreign: j.Foreign, Dispatched: j.Dispatched, Gaps: j.Gaps,
		SignalEnds: j.SignalEnds}
	for _, s := range j.Submits {
		if j.inGap(s.Span) && s.Accepted() {
			if s.Created && !there[s.Task] {
				c.verdict.Undone++
			}
			s.Answer = Answer{}
		}
		known.Submits = append(known.Submits, s)
	}
	for _, h := range j.Handouts {
		if !j.inGap(h.Span) {
			known.Handouts = append(known.Handouts, h)
		}
	}
	for _, r := range j.Reports {
		if j.inGap(r.Span) && r.Accepted() {
			r.Answer = Answer{}
		}
		known.Reports = append(known.Reports, r)
	}
	for _, n := range j.Cancels {
		if j.inGap(n.Span) && n.Accepted() {
			n.Answer = Answer{}
		}
		known.Cancels = append(known.Cancels, n)
	}
	for _, a := range j.Acts {
		if j.inGap(a.Span) && a.Accepted() {
			a.Answer = Answer{}
		}
		known.Acts = append(known.Acts, a)
	}
	for _, s := range j.Signals {
		if j.inGap(s.Span) && s.Accepted() {
			s.Answer = Answer{}
		}
		known.Signals = append(known.Signals, s)
	}
	return known
}

// settledOnceBefore checks for each gap that the lost database settled no step twice. A call under way at the loss may
// have been answered by the other one.
func (c *checker) settledOnceBefore(j *Journal) {
	for i, g := range j.Gaps {
		settled := map[uuid.UUID]int{}
		for _, r := range j.Reports {
			if r.completes() && r.Accepted() && r.End <= g.To && (i == 0 || r.Begin > j.Gaps[i-1].To) {
				if settled[r.Step]++; settled[r.Step] == 2 {
					c.report(SettledTwice, "step %s: two callers were told that they settled it, before the database went back",
						r.Step)
				}
			}
		}
	}
}
