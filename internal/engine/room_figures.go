package engine

func (e *Engine) joinFigures() {
	e.queueSamples.turn = make(chan struct{}, 1)
	e.countQueue = e.countStreamed
}
