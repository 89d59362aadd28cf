package engine

func (e *Engine) joinActs() { e.dueActs = newDueActs(e) }
