package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// groupChanges holds what a unit changes about the groups of the inbox. It only adds rows, so that thousands of
// failures with one fingerprint wait for no lock: package inbox adds the deltas up.
type groupChanges struct {
	u     *unit
	tally deadletter.Tally
}

// Grouper applies rules to the fingerprints of failures. It is called in the transaction that stores a failure.
type Grouper interface {
	// Print returns the fingerprint by which a failure is grouped: print, or what a rule of the namespace makes of it.
	// facts is called only where there are rules. An error is one of the database.
	Print(ctx context.Context, tx Tx, namespace string, print failure.Print, facts func() deadletter.Facts,
		now task.Instant) (failure.Print, error)
}

// printBy applies the rules of a namespace to the fingerprint of a failure.
func printBy(u *unit, namespace string, print failure.Print, facts func() deadletter.Facts) (failure.Print, error) {
	if u.e.grouper == nil {
		return print, nil
	}
	return u.e.grouper.Print(u.ctx, u.tx, namespace, print, facts, u.now)
}

// join counts a failure in the group of its fingerprint, and returns the group.
// The group is added each time: the store keeps the one that it has. A read to find out would cost more.
func (gc *groupChanges) join(namespace string, print failure.Print) int64 {
	g := gc.tally.Join(deadletter.NewGroup(namespace, print, gc.u.now))
	d := gc.tally.Of(g.ID)
	d.Failures++
	d.At = gc.u.now
	return int64(g.ID)
}

// opened adds n to the pending cases of a group; 0 is no group.
func (gc *groupChanges) opened(id int64, n int64) {
	if id != 0 && n != 0 {
		gc.tally.Of(deadletter.GroupID(id)).OpenCases += n
	}
}

// save stores what was collected. A unit without failures sends no statement.
func (gc *groupChanges) save() error { return gc.u.e.groupRows.AddTally(gc.u.ctx, gc.u.tx, &gc.tally) }
