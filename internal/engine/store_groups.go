package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/deadletter"
)

// GroupRows put failures into groups of the inbox, in the transaction that stores them, and into its outbox those that
// others wait for.
type GroupRows interface {
	// AddGroups stores new groups; those that exist are left as they are.
	AddGroups(ctx context.Context, tx Tx, groups []*deadletter.Group) error
	// AddDeltas adds changes of the counts of groups. Deltas never conflict with each other.
	AddDeltas(ctx context.Context, tx Tx, deltas []deadletter.Delta) error
	// AddSends stores sends, such as those of tasks that were made of messages and have failed for good.
	AddSends(ctx context.Context, tx Tx, sends []deadletter.Send) error
}
