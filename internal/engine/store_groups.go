package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/deadletter"
)

// GroupRows put failures into groups of the inbox, in the transaction that stores them, and tell it of failures that
// others wait for.
type GroupRows interface {
	// AddGroups stores new groups; those that exist are left as they are.
	AddGroups(ctx context.Context, tx Tx, groups []*deadletter.Group) error
	// AddDeltas adds changes of the counts of groups. Deltas never conflict with each other.
	AddDeltas(ctx context.Context, tx Tx, deltas []deadletter.Delta) error
	// AddIntakeFailures stores that tasks that were made of messages have failed for good.
	AddIntakeFailures(ctx context.Context, tx Tx, failures []deadletter.IntakeFailure) error
}
