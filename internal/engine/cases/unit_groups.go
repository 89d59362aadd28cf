package cases

import (
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
)

// groupChanges only adds rows, so that failures with one fingerprint wait for no lock: package inbox adds the deltas.
type groupChanges struct {
	u     *kernel.Unit
	tally deadletter.Tally
}

// join always adds the group: the store keeps an existing one, and a read would cost more.
func (gc *groupChanges) join(namespace string, print failure.Print) int64 {
	g := gc.tally.Join(deadletter.NewGroup(namespace, print, gc.u.Now))
	d := gc.tally.Of(g.ID)
	d.Failures++
	d.At = gc.u.Now
	return int64(g.ID)
}

func (gc *groupChanges) opened(id int64, n int64) {
	if id != 0 && n != 0 {
		gc.tally.Of(deadletter.GroupID(id)).OpenCases += n
	}
}

// A unit without failures sends no statement.
func (gc *groupChanges) save() error {
	return Of(gc.u.E).groupRows.AddTally(gc.u.Ctx, gc.u.Tx, &gc.tally)
}
