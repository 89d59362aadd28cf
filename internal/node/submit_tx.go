package node

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store/postgres"
)

// SubmitInside is SubmitTasks in a transaction that the caller has begun on host,
// a connection to the PostgreSQL of this Node, and will commit or roll back.
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
