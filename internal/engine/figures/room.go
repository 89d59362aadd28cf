// Package figures counts: queues, routes, waiting and stale work.
package figures

import "github.com/taskerhq/tasker/internal/engine/kernel"

// Room is the part of the engine: the numbers that pages and metrics show.
type Room struct {
	*kernel.Kernel
	queueSamples queueSamples
}

var room = kernel.NewRoom[Room]()

// Of returns the room of an engine.
func Of(k *kernel.Kernel) *Room { return room.Of(k) }

// New makes the room a part of an engine.
func New(k *kernel.Kernel) *Room {
	e := &Room{Kernel: k}
	e.queueSamples.turn = make(chan struct{}, 1)
	e.CountQueue = e.countStreamed
	return room.Put(k, e)
}
