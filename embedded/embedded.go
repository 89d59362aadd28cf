// Package embedded runs the engine in the caller's process: no server, no network, one SQLite
// file.
//
// Open returns the same Client as tasker.Dial, so that a program moves from the embedded engine
// to a server by changing one line. Every feature of the engine works here: workflows, retries,
// cases, the operators' API of package operate. What is missing is what only a server has: the
// HTTP API, the dashboard, metrics and API keys.
//
// Open also takes the DSN of a PostgreSQL. The process is then one node of a cluster, with the
// same rights as a server, and SubmitTx submits tasks inside the caller's own transaction.
//
// A program that imports this package contains the database drivers; one that only imports
// package tasker does not.
//
// Start with Open in embedded.go; tx.go holds SubmitTx. The work is done in internal/node,
// which assembles an engine, and internal/local, which translates.
package embedded

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/node"
)

// Options configures Open. A zero field selects the default.
type Options struct {
	// Logger receives the messages of the background loops. Defaults to discarding them.
	Logger *slog.Logger
	// Dispatch is the URL of a Redis, redis://HOST:PORT, through which ready steps reach workers. The
	// database remains the source of truth, and dispatches the steps while Redis is unavailable. Defaults to
	// "", which means no Redis. Every node of one database that has workers must use the same Redis: while
	// one does not, none uses it.
	Dispatch string
}

// Open opens the engine on a DSN ("sqlite:path", a plain path, or "memory:" for a store that ends with the
// process) and runs it until the Client is closed. It creates and migrates the file as needed.
// CodeUnavailable: another process has the file open. Stop workers before closing the Client.
func Open(ctx context.Context, dsn string, opts *Options) (*tasker.Client, error) {
	if opts == nil {
		opts = &Options{}
	}
	b, err := node.Open(ctx, dsn, node.Options{Logger: opts.Logger, Dispatch: opts.Dispatch})
	if err != nil {
		return nil, err
	}
	return tasker.NewClient(start(b)), nil
}

// running is a Backend with its background loops.
type running struct {
	*node.Node
	stop func() error
}

// start runs the background loops until Close. They have a context of their own, because the
// ctx of Open only bounds the opening.
func start(b *node.Node) *running {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	return &running{b, sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-ended, b.Close())
	})}
}

// Close stops the loops and closes the store. A second Close does nothing. It waits for the
// loops, and returns what ended one of them early.
func (r *running) Close() error { return r.stop() }
