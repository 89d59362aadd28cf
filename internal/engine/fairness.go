package engine

// With a fairness window, a poll gets only steps of similar levels: a worker with capacity for ten does not take nine
// of low priority together with one of high, which would keep it busy when more of high priority arrive. A batch ends
// where the next step does not fit, so no step is overtaken.

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

// promises reports whether a waiting poll has room for a step of a level; without earlier promises for any level.
func (p *poller) promises(level, window int) bool {
	if p.promised == 0 || window == 0 {
		return p.promised < p.capacity
	}
	return p.promised < p.capacity && max(p.highest, level)-min(p.lowest, level) <= window
}

func (p *poller) promise(level int) {
	if p.promised == 0 {
		p.lowest, p.highest = level, level
	}
	p.lowest, p.highest = min(p.lowest, level), max(p.highest, level)
	p.promised++
}
