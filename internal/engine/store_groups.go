package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// GroupRows put failures into groups of the inbox, in the transaction that stores them, and into its outbox those that
// others wait for.
type GroupRows interface {
	// AddTally stores new groups, and changes of the counts of groups; groups that exist are left as they are. Changes
	// of their counts never conflict with each other. An empty tally sends no statement.
	AddTally(ctx context.Context, tx Tx, t *deadletter.Tally) error
	// AddSends stores sends, such as those of tasks that were made of messages and have failed for good.
	AddSends(ctx context.Context, tx Tx, sends []deadletter.Send) error
}
