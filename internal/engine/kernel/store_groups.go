package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// GroupRows put failures into groups of the inbox, and awaited ones into its outbox, in the transaction that stores
// them.
type GroupRows interface {
	// AddTally stores new groups, keeps existing ones, and changes counts without conflicts. An empty tally sends no
	// statement.
	AddTally(ctx context.Context, tx Tx, t *deadletter.Tally) error
	// AddSends stores sends, such as those of failed tasks made of messages.
	AddSends(ctx context.Context, tx Tx, sends []deadletter.Send) error
}
