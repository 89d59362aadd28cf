// Package cases opens, changes and follows cases: what became of tasks in error, stale, or without a worker.
package cases

import (
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Room is the part of the engine: the verbs on cases, and the detection of stale and unserved work.
type Room struct {
	*kernel.Kernel
	CaseRows      kernel.CaseRows
	CaseReader    kernel.CaseReader
	CaseCounter   kernel.CaseCounter
	CaseRetention kernel.CaseRetention
	groupRows     kernel.GroupRows
	watchStore    kernel.WatchStore

	lifecycles lifecycles
	dueCases   dueCases
}

var room = kernel.NewRoom[Room]()

// Of returns the room of an engine.
func Of(k *kernel.Kernel) *Room { return room.Of(k) }

// New makes the room a part of an engine.
func New(k *kernel.Kernel, db kernel.Database) *Room {
	rows := db.CaseStore()
	e := &Room{Kernel: k, CaseRows: rows, CaseReader: rows, CaseCounter: rows, CaseRetention: rows,
		groupRows: db.GroupRows(), watchStore: db.WatchStore()}
	e.dueCases.unserved = due.New("the unserved step", func(s *task.Step) task.ID { return s.ID }, e.leaveUnserved)
	e.Forgets = append(e.Forgets, e.lifecycles.forget)
	return room.Put(k, e)
}
