package node

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// SubmitInside is SubmitTasks in a caller's open transaction on host, a connection to the PostgreSQL of this Node.
// The caller commits or rolls back.
func (n *Node) SubmitInside(ctx context.Context, host *pgconn.PgConn,
	requests []tasker.TaskRequest,
) ([]tasker.TaskReceipt, error) {
	s, ok := n.store.(*postgres.Store)
	if !ok {
		return nil, tasker.Errorf(tasker.CodeInvalid,
			"tasks can be submitted in a transaction of PostgreSQL only, and this client is not on PostgreSQL")
	}
	return n.SubmitIn(ctx, requests, func(fn func(context.Context, engine.Tx) error) error {
		return s.WriteExternal(ctx, host, fn)
	})
}

// SubmitBeside is SubmitTasks in a transaction of this Node's SQLite, after own's writes. It returns an error of
// own unchanged. Without requests it only runs own.
func (n *Node) SubmitBeside(ctx context.Context, own func(*sql.Tx) error,
	requests []tasker.TaskRequest,
) (receipts []tasker.TaskReceipt, err error) {
	s, ok := n.store.(*sqlite.Store)
	if !ok {
		return nil, tasker.Errorf(tasker.CodeInvalid, "this client is not on SQLite")
	}
	var refused error
	write := func(fn func(context.Context, engine.Tx) error) error {
		return s.WriteBeside(ctx, func(tx *sql.Tx) error {
			refused = own(tx)
			return refused
		}, fn)
	}
	if len(requests) == 0 {
		err = local.ToError(write(func(context.Context, engine.Tx) error { return nil }))
	} else {
		receipts, err = n.SubmitIn(ctx, requests, write)
	}
	if err != nil && refused != nil {
		return nil, refused
	}
	return receipts, err
}
