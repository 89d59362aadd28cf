package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/deadletter"
)

// GroupRows put failures into groups of the inbox, in the transaction that stores them, and tell it of failures that
// others wait for.
type GroupRows interface {
	// AddTally stores new groups, and changes of the counts of groups; groups that exist are left as they are. Changes
	// of their counts never conflict with each other. An empty tally sends no statement.
	AddTally(ctx context.Context, tx Tx, t *deadletter.Tally) error
	// AddIntakeFailures stores that tasks that were made of messages have failed for good.
	AddIntakeFailures(ctx context.Context, tx Tx, failures []deadletter.IntakeFailure) error
}
