package engine

import "github.com/taskerhq/tasker/internal/kit/coalesce"

func (e *Engine) joinFlow() {
	e.dueFlow = newDueFlow(e)
	e.children = coalesce.New(callers, 1, e.advanceChildren)
	e.handOvers = coalesce.New(callers, 1, e.handOverSignals)
}
