package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// ActStore stores the acts of operators.
type ActStore interface {
	// AddActs stores acts, which survive everything, also the deletion of their task.
	AddActs(ctx context.Context, tx Tx, acts []task.Act) error
	// FindActs returns the acts on a task, oldest first.
	FindActs(ctx context.Context, id task.ID) ([]task.Act, error)
	// ListActs returns a page, newest first.
	ListActs(ctx context.Context, f ActFilter) ([]task.Act, error)
}

// ActFilter selects acts. Zero fields match all.
type ActFilter struct {
	Task      task.ID
	Case      task.ID
	Worker    task.ID
	Namespace string
	Template  string
	Actor     string
	Key       string // name of the API key
	Kind      string
	After     task.Instant // inclusive
	Before    task.Instant // exclusive
	Below     int64        // No, exclusive
	Limit     int
	Bytes     int // see CaseFilter
}
