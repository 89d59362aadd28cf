package embedded

import (
	"context"
	"database/sql"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
)

// SubmitSQLite runs write in a transaction of the client's SQLite and submits tasks in it: the tasks exist if and
// only if write's changes do. write is for the caller's tables in the same file; without tasks the transaction is
// theirs alone.
//
// SQLite has one writer, the engine, so all other writes wait for write: it should be short and not call the
// client. It may run again after a rollback, so it should have no other effects. It must not end the transaction,
// keep tx, change pragmas or touch tables that begin with "tasker_". The caller may open the file to read its
// tables.
//
// An error of write is returned unchanged, and nothing is stored. CodeInvalid: the client is not on SQLite, a task
// is invalid (then write is not called), or write has ended the transaction. Other errors are those of
// Client.SubmitTasks.
func SubmitSQLite(ctx context.Context, client *tasker.Client, write func(tx *sql.Tx) error,
	tasks ...tasker.TaskRequest,
) ([]tasker.TaskReceipt, error) {
	n, tasks, err := node.InProcess(ctx, client, tasks)
	if err != nil {
		return nil, err
	}
	return n.SubmitBeside(ctx, write, tasks)
}
