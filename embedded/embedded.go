// Package embedded runs the engine in the caller's process: no server, no network, one SQLite file.
//
// Open returns the same Client as remote.Dial, so that a program moves from the embedded engine
// to a server by changing one line. Every feature of the engine works here: workflows, retries,
// cases, the operators' API of package operate. What is missing is what only a server has: the
// HTTP API, the dashboard, metrics and API keys.
//
// A program that imports this package contains SQLite. The import of a package below it links what else it uses:
// PostgreSQL, a broker, a store of large results. See docs/guides/sdk.md.
//
// With embedded/postgres, Open also takes the DSN of a PostgreSQL. The process is then a node of a cluster, with the
// same rights as a server. SubmitSQLite, and SubmitTx and SubmitConn of embedded/postgres, submit tasks in a
// transaction with the caller's own rows.
//
// Start with Open in embedded.go; options.go has the configuration, submit_sqlite.go the transactions.
// internal/host/node assembles the engine, and internal/api/local translates.
package embedded

import (
	"context"
	"errors"
	"sync"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
)

// Open opens the engine on a DSN ("sqlite:path", a plain path, or "memory:" for a store that ends with the process)
// and runs it until the Client is closed. It creates and migrates the file. CodeUnavailable: another process has
// the file open. CodeInvalid: Options.Config or dsn is invalid. Stop workers before closing the Client.
func Open(ctx context.Context, dsn string, opts *Options) (*tasker.Client, error) {
	if opts == nil {
		opts = &Options{}
	}
	inside, err := opts.nodeOptions()
	if err != nil {
		return nil, err
	}
	b, err := node.Open(ctx, dsn, inside)
	if err != nil {
		return nil, err
	}
	return tasker.NewClient(start(b)), nil
}

type running struct {
	*node.Node
	stop func() error
}

// start uses a separate context, because the ctx of Open only bounds the opening.
func start(b *node.Node) *running {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	return &running{b, sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-ended, b.Close())
	})}
}

// Close waits for the loops, closes the store, and returns the error that ended a loop early. A second Close does
// nothing.
func (r *running) Close() error { return r.stop() }
