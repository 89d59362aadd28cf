package engine

// With a fairness window, a poll gets only steps whose levels are close to each other: a worker with capacity for ten
// does not take nine steps of low priority together with one of high, because they would keep it busy when more of high
// priority arrive. A batch ends where the next step in order does not fit, so that no step is overtaken.

// fits reports whether a step of a level may go into a batch. With a window of 0 every step
// fits.
func (e *Engine) fits(batch []Lease, level int) bool {
	window := e.cfg.Scheduling.FairnessWindow
	if window == 0 {
		return true
	}
	for i := range batch {
		if d := batch[i].Step.Priority - level; d > window || -d > window {
			return false
		}
	}
	return true
}

// promises reports whether a waiting poll has room for one more step of a level. A poll that
// has been promised nothing takes a step of any level.
func (p *poller) promises(level, window int) bool {
	if p.promised == 0 || window == 0 {
		return p.promised < p.capacity
	}
	return p.promised < p.capacity && max(p.highest, level)-min(p.lowest, level) <= window
}

// promise records that a poll will get a step of a level.
func (p *poller) promise(level int) {
	if p.promised == 0 {
		p.lowest, p.highest = level, level
	}
	p.lowest, p.highest = min(p.lowest, level), max(p.highest, level)
	p.promised++
}
