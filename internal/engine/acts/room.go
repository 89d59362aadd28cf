// Package acts carries out the acts of operators on tasks and steps, and ends tasks whose time is over.
package acts

import "github.com/taskerhq/tasker/internal/engine/kernel"

// Room is the part of the engine: the verbs of operators.
type Room struct {
	*kernel.Kernel
	dueActs dueActs
}

var room = kernel.NewRoom[Room]()

// Of returns the room of an engine.
func Of(k *kernel.Kernel) *Room { return room.Of(k) }

// New makes the room a part of an engine.
func New(k *kernel.Kernel) *Room { return room.Put(k, &Room{Kernel: k, dueActs: newDueActs(k)}) }
