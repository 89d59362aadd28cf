// Package flow carries out the steps that no worker runs, and decides which steps run at all: conditions, waits,
// approvals, child tasks, compensation.
package flow

import (
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/kit/coalesce"
)

// Room is the part of the engine: the verbs on waits, signals, approvals and child tasks.
type Room struct {
	*kernel.Kernel
	childRows  kernel.ChildRows
	childReads kernel.ChildReads
	waitStore  kernel.WaitStore

	dueFlow      dueFlow
	children     *coalesce.Group[struct{}, struct{}]
	handOvers    *coalesce.Group[struct{}, struct{}]
	signalCounts signalCounts
}

var room = kernel.NewRoom[Room]()

// Of returns the room of an engine.
func Of(k *kernel.Kernel) *Room { return room.Of(k) }

// New makes the room a part of an engine.
func New(k *kernel.Kernel, db kernel.Database) *Room {
	rows := db.ChildStore()
	e := &Room{Kernel: k, childRows: rows, childReads: rows, waitStore: db.WaitStore(), dueFlow: newDueFlow(k)}
	e.children = coalesce.New(kernel.Callers, 1, e.advanceChildren)
	e.handOvers = coalesce.New(kernel.Callers, 1, e.handOverSignals)
	return room.Put(k, e)
}
