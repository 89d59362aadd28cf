package local

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/task"
)

// SubmitInside is SubmitTasks in a transaction that the caller has begun on host,
// a connection to the PostgreSQL of this Backend, and will commit or roll back.
func (b *Backend) SubmitInside(ctx context.Context, host *pgconn.PgConn, requests []tasker.TaskRequest) ([]tasker.TaskReceipt, error) {
	s, ok := b.store.(*postgres.Store)
	if !ok {
		return nil, toError(task.Errorf(task.Invalid, "tasks can be submitted in a transaction of PostgreSQL only, and this client is not on PostgreSQL"))
	}
	subs := make([]engine.Submission, len(requests))
	for i := range requests {
		toSubmission(&requests[i], &subs[i])
	}
	receipts, err := b.engine.SubmitIn(ctx, subs, func(fn func(engine.Tx) error) error { return s.WriteExternal(ctx, host, fn) })
	if err != nil {
		return nil, toError(err)
	}
	return fromReceipts(receipts), nil
}
