package embedded

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker"
)

// SubmitConn is SubmitTx for database/sql with PostgreSQL: it submits tasks inside the transaction that is open on
// conn, begun with conn.BeginTx. The driver must be that of pgx, github.com/jackc/pgx/v5/stdlib. (A *sql.Tx of a pool
// does not give its connection away, so take a *sql.Conn of the pool and begin there.)
//
// What SubmitTx says of transactions, connections and errors holds. No other goroutine may use or close conn meanwhile.
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

// SubmitSQLite runs write in a transaction of the client's SQLite and submits tasks in the same one: the tasks exist if
// and only if what write has written does. write is for tables of the caller's own in the same file; without tasks it
// is just a transaction on them.
//
// SQLite has one writer, and here it is the engine. So write gets the engine's transaction, while all other writes
// wait: it should be short and call nothing of the client. It may run a second time, after the first one was rolled
// back, so it should have no other effects. It must not end the transaction, keep tx, change pragmas or touch tables
// whose names begin with "tasker_". To read its tables, the caller may open the file itself.
//
// The error of write is returned as it is, and nothing is stored. CodeInvalid: the client is not on SQLite, a task is
// invalid (then write is not called), or write has ended the transaction. The others are those of Client.SubmitTasks.
func SubmitSQLite(ctx context.Context, client *tasker.Client, write func(tx *sql.Tx) error,
	tasks ...tasker.TaskRequest,
) ([]tasker.TaskReceipt, error) {
	r, tasks, err := inProcess(ctx, client, tasks)
	if err != nil {
		return nil, err
	}
	return r.SubmitBeside(ctx, write, tasks)
}

// inProcess returns the engine of a client from Open, and the tasks as the codec of the client encodes them. It refuses
// tasks whose input has no JSON form.
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
