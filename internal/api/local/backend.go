package local

import (
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Backend is a tasker.Backend on an engine, without Close: the opener of the engine closes it. Its methods are safe for
// concurrent use, and return *tasker.Error for errors that a caller can act on. Each keeps the contract of its
// interface.
type Backend struct {
	Chain

	engine *engine.Engine
	rows   Rows

	sending chan struct{} // one for each large result in reception
}

// Rows are reads that bypass the engine, because none of its rules applies.
type Rows interface {
	// FindWorkerByNo returns a worker by its number, or nil.
	FindWorkerByNo(ctx context.Context, no int64) (*task.Worker, error)
	ListTemplates(ctx context.Context, filter engine.TemplateFilter) ([]*task.Template, error)
}

// New returns a Backend on an engine whose store has the rows.
func New(e *engine.Engine, rows Rows) *Backend {
	return &Backend{Chain: chainOf(e, rows), engine: e, rows: rows, sending: make(chan struct{}, maxSending)}
}

// SubmitIn is SubmitTasks inside a caller's transaction: within calls its argument with the store's side of that
// transaction. It has no namespace scope: the caller is the program itself.
func (b *Backend) SubmitIn(ctx context.Context, requests []tasker.TaskRequest,
	within func(func(context.Context, engine.Tx) error) error,
) ([]tasker.TaskReceipt, error) {
	subs := make([]engine.Submission, len(requests))
	for i := range requests {
		toSubmission(&requests[i], &subs[i])
	}
	receipts, err := b.engine.SubmitWithin(ctx, subs, within)
	if err != nil {
		return nil, ToError(err)
	}
	return fromReceipts(receipts), nil
}
