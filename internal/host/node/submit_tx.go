package node

import (
	"context"
	"database/sql"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// InProcess returns the Node of a client of this process, and tasks in the client's codec. It refuses input without a
// JSON form.
func InProcess(ctx context.Context, client *tasker.Client, tasks []tasker.TaskRequest,
) (*Node, []tasker.TaskRequest, error) {
	b, ok := client.Backend.(interface{ node() *Node })
	if !ok {
		return nil, nil, tasker.Errorf(tasker.CodeInvalid,
			"the client is that of a server: a transaction wants one from embedded.Open")
	}
	req := tasker.SubmitRequest{Tasks: tasks}
	if err := req.Check(); err != nil {
		return nil, nil, err
	}
	tasks, err := client.EncodeTasks(ctx, tasks)
	return b.node(), tasks, err
}

func (n *Node) node() *Node { return n }

// Store returns the database of this Node.
func (n *Node) Store() engine.Store { return n.store }

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
