// Package postgres links PostgreSQL into a program with the embedded engine, which then opens DSNs of postgres://:
//
//	import _ "github.com/taskerhq/tasker/embedded/postgres"
//
// SubmitTx and SubmitConn submit tasks in a transaction with the caller's own rows.
package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/store/postgres"
)

func init() { store.Servers.Register(store.Postgres, postgres.Server) }

// SubmitTx submits tasks inside the caller's transaction: the tasks exist if and only if its other writes do.
//
// The client must come from embedded.Open, and tx must be on the same PostgreSQL database, with any search_path.
// SubmitTx costs two round trips on tx's connection, which must not be reading rows. No worker sees the tasks before tx
// commits; then they start within moments.
//
// Errors: CodeInvalid for invalid tasks and for an unsuitable client or transaction; others are those of
// Client.SubmitTasks. After an error tx is unchanged and can continue. A named template must be registered before;
// the implicit template of a handler is stored even if tx rolls back.
func SubmitTx(ctx context.Context, tx pgx.Tx, client *tasker.Client,
	tasks ...tasker.TaskRequest,
) ([]tasker.TaskReceipt, error) {
	n, tasks, err := node.InProcess(ctx, client, tasks)
	if err != nil {
		return nil, err
	}
	return submit(ctx, n, tx.Conn().PgConn(), tasks)
}

// SubmitConn is SubmitTx for database/sql: it submits tasks inside the transaction open on conn, begun with
// conn.BeginTx. The driver must be pgx's, github.com/jackc/pgx/v5/stdlib. (A pool's *sql.Tx does not reveal its
// connection, so take a *sql.Conn and begin there.)
//
// Transactions, connections and errors are as in SubmitTx. No other goroutine may use or close conn meanwhile.
func SubmitConn(ctx context.Context, conn *sql.Conn, client *tasker.Client,
	tasks ...tasker.TaskRequest,
) ([]tasker.TaskReceipt, error) {
	n, tasks, err := node.InProcess(ctx, client, tasks)
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
		receipts, err = submit(ctx, n, c.Conn().PgConn(), tasks)
		return err
	})
	if errors.Is(err, sql.ErrConnDone) {
		return nil, tasker.Errorf(tasker.CodeInvalid, "the connection is closed")
	}
	return receipts, err
}

func submit(ctx context.Context, n *node.Node, host *pgconn.PgConn, tasks []tasker.TaskRequest,
) ([]tasker.TaskReceipt, error) {
	s, is := n.Store().(*postgres.Store)
	if !is {
		return nil, tasker.Errorf(tasker.CodeInvalid,
			"tasks can be submitted in a transaction of PostgreSQL only, and this client is not on PostgreSQL")
	}
	return n.SubmitIn(ctx, tasks, func(fn func(context.Context, engine.Tx) error) error {
		return s.WriteExternal(ctx, host, fn)
	})
}
