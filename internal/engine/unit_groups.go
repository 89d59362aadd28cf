package engine

import (
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/failure"
)

// groupChanges holds what a unit changes about the groups of the inbox. It only adds rows, so that thousands of
// failures with one fingerprint wait for no lock: package inbox adds the deltas up.
type groupChanges struct {
	u *unit

	groups map[deadletter.GroupID]*deadletter.Group
	deltas map[deadletter.GroupID]*deadletter.Delta
}

// join counts a failure in the group of its fingerprint, and returns the group.
// The group is added each time: the store keeps the one that it has. A read to find out would cost more.
func (gc *groupChanges) join(namespace string, print failure.Print) int64 {
	g := deadletter.NewGroup(namespace, print, gc.u.now)
	if gc.groups == nil {
		gc.groups = map[deadletter.GroupID]*deadletter.Group{}
	}
	gc.groups[g.ID] = g
	d := gc.delta(g.ID)
	d.Failures++
	d.At = gc.u.now
	return int64(g.ID)
}

// opened adds n to the pending cases of a group; 0 is no group.
func (gc *groupChanges) opened(id int64, n int64) {
	if id != 0 && n != 0 {
		gc.delta(deadletter.GroupID(id)).OpenCases += n
	}
}

// delta returns the change of a group's counts in this transaction, one row whatever the number of failures.
func (gc *groupChanges) delta(id deadletter.GroupID) *deadletter.Delta {
	if gc.deltas == nil {
		gc.deltas = map[deadletter.GroupID]*deadletter.Delta{}
	}
	if gc.deltas[id] == nil {
		gc.deltas[id] = &deadletter.Delta{Group: id}
	}
	return gc.deltas[id]
}

// save stores new groups before the deltas that refer to them, both in the order of their IDs, so that two transactions
// do not wait for each other in a circle.
func (gc *groupChanges) save() error {
	var groups []*deadletter.Group
	for _, id := range slices.Sorted(maps.Keys(gc.groups)) {
		groups = append(groups, gc.groups[id])
	}
	if len(groups) > 0 {
		if err := gc.u.e.groupRows.AddGroups(gc.u.ctx, gc.u.tx, groups); err != nil {
			return err
		}
	}
	var deltas []deadletter.Delta
	for _, id := range slices.Sorted(maps.Keys(gc.deltas)) {
		if d := *gc.deltas[id]; d.Failures != 0 || d.OpenCases != 0 {
			deltas = append(deltas, d)
		}
	}
	if len(deltas) == 0 {
		return nil
	}
	return gc.u.e.groupRows.AddDeltas(gc.u.ctx, gc.u.tx, deltas)
}
