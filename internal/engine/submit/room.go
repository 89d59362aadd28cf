// Package submit takes in tasks: drafts, idempotency and unique keys, back-pressure.
package submit

import (
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/kit/coalesce"
)

// Room is the part of the engine: the verbs that make tasks.
type Room struct {
	*kernel.Kernel
	KeyStore    kernel.KeyStore
	UniqueStore kernel.UniqueStore

	Backpressure *Backpressure
	Programs     programs
	submits      *coalesce.Group[[]*Draft, submitted]
}

var room = kernel.NewRoom[Room]()

// Of returns the room of an engine.
func Of(k *kernel.Kernel) *Room { return room.Of(k) }

// New makes the room a part of an engine.
func New(k *kernel.Kernel, db kernel.Database) *Room {
	e := &Room{Kernel: k, KeyStore: db.KeyStore(), UniqueStore: db.UniqueStore(), Backpressure: newBackpressure(k)}
	e.Meter.DepthMoved = e.Backpressure.moved
	e.submits = coalesce.New(kernel.Callers, 1, e.runSubmits).Apart(e.RowAtFault)
	return room.Put(k, e)
}
