package kernel

// With a fairness window, a poll gets only steps of similar levels, so that nine steps of low priority taken with one
// of high do not keep a worker busy. A batch ends where the next step does not fit, so no step is overtaken.

func (e *Kernel) fits(batch []Lease, level int) bool {
	window := e.Cfg.Scheduling.FairnessWindow
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

// promises accepts any level for a poll without promises.
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
