package embedded

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker"
)

// SubmitTx submits tasks inside the caller's transaction: the tasks exist if and only if its other writes do.
//
// The client must come from Open, and tx must be on the same PostgreSQL database, with any search_path. SubmitTx
// costs two round trips on tx's connection, which must not be reading rows. No worker sees the tasks before tx
// commits; then they start within moments.
//
// Errors: CodeInvalid for invalid tasks and for an unsuitable client or transaction; others are those of
// Client.SubmitTasks. After an error tx is unchanged and can continue. A named template must be registered before;
// the implicit template of a handler is stored even if tx rolls back.
func SubmitTx(ctx context.Context, tx pgx.Tx, client *tasker.Client,
	tasks ...tasker.TaskRequest,
) ([]tasker.TaskReceipt, error) {
	r, tasks, err := inProcess(ctx, client, tasks)
	if err != nil {
		return nil, err
	}
	return r.SubmitInside(ctx, tx.Conn().PgConn(), tasks)
}
