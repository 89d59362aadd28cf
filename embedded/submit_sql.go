package embedded

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker"
)

// SubmitConn is SubmitTx for database/sql with PostgreSQL: it submits tasks inside the transaction open on conn,
// begun with conn.BeginTx. The driver must be pgx's, github.com/jackc/pgx/v5/stdlib. (A pool's *sql.Tx does not
// reveal its connection, so take a *sql.Conn and begin there.)
//
// Transactions, connections and errors are as in SubmitTx. No other goroutine may use or close conn meanwhile.
func SubmitConn(ctx context.Context, conn *sql.Conn, client *tasker.Client,
	tasks ...tasker.TaskRequest,
) ([]tasker.TaskReceipt, error) {
	r, tasks, err := inProcess(ctx, client, tasks)
	if err != nil {
		return nil, err
	}
	var receipts []tasker.TaskReceipt
	err = conn.Raw(func(driverConn any) error {
		c, ok := driverConn.(interface{ Conn() *pgx.Conn })
		if !ok {
			e := tasker.Errorf(tasker.CodeInvalid, "the connection is a %T, not one of pgx", driverConn)
			e.Hint = "open the database with the driver of github.com/jackc/pgx/v5/stdlib"
			return e
		}
		var err error
		receipts, err = r.SubmitInside(ctx, c.Conn().PgConn(), tasks)
		return err
	})
	if errors.Is(err, sql.ErrConnDone) {
		return nil, tasker.Errorf(tasker.CodeInvalid, "the connection is closed")
	}
	return receipts, err
}

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
	r, tasks, err := inProcess(ctx, client, tasks)
	if err != nil {
		return nil, err
	}
	return r.SubmitBeside(ctx, write, tasks)
}

// inProcess returns the engine of a client from Open, and the tasks in the client's codec. It refuses input without
// a JSON form.
func inProcess(ctx context.Context, client *tasker.Client, tasks []tasker.TaskRequest,
) (*running, []tasker.TaskRequest, error) {
	r, ok := client.Backend.(*running)
	if !ok {
		return nil, nil, tasker.Errorf(tasker.CodeInvalid,
			"the client is that of a server: a transaction wants one from embedded.Open")
	}
	req := tasker.SubmitRequest{Tasks: tasks}
	if err := req.Check(); err != nil {
		return nil, nil, err
	}
	tasks, err := client.EncodeTasks(ctx, tasks)
	return r, tasks, err
}
