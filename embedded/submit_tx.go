package embedded

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker"
)

// SubmitTx submits tasks inside the caller's own transaction: they exist if and
// only if what else the transaction writes does. Nobody has to wonder whether the
// order was stored and its task was not.
//
// The client has to come from Open, and tx has to be on the same PostgreSQL
// database; its search_path does not matter. Submitting costs two round trips on
// tx's connection, which must not be reading rows meanwhile. No worker sees the
// tasks before tx is committed; then they start within moments.
//
// Errors: CodeInvalid for tasks, a client or a transaction that do not fit, as
// Client.SubmitTasks otherwise. After an error tx is as it was, and can go on. A
// template that the tasks name must be registered before; the stand-in for a
// handler is stored even if tx is rolled back.
func SubmitTx(ctx context.Context, tx pgx.Tx, client *tasker.Client,
	tasks ...tasker.TaskRequest,
) ([]tasker.TaskReceipt, error) {
	r, ok := client.Backend.(*running)
	if !ok {
		return nil, tasker.Errorf(tasker.CodeInvalid, "the client is that of a server: SubmitTx wants one from embedded.Open")
	}
	return r.SubmitInside(ctx, tx.Conn().PgConn(), tasks)
}
