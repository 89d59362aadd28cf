package engine

import "github.com/taskerhq/tasker/internal/kit/coalesce"

func (e *Engine) joinSubmit() {
	e.pressure = newBackpressure(e)
	e.meter.depthMoved = e.pressure.moved
	e.submits = coalesce.New(callers, 1, e.runSubmits)
}
