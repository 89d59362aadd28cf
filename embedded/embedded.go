// Package embedded runs the engine in the caller's process: no server, no
// network, one SQLite file. The Client is the same as that of a server, so what
// begins embedded can move to a server by changing one line.
package embedded

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/node"
)

// Options is what Open can be told. The zero value is good.
type Options struct {
	// Logger gets what the background loops did. Defaults to discarding it.
	Logger *slog.Logger
	// Dispatch is the URL of a Redis, redis://HOST:PORT, through which ready steps
	// reach workers. The truth stays in the database; without Redis, and while it is
	// away, the database does it. Defaults to "", which means not to use one. Workers on
	// this engine need what the other nodes of the database have: while one that has
	// workers does not use their Redis, none does.
	Dispatch string
}

// Open opens the engine on a DSN ("sqlite:path", a plain path, or "memory:" for
// one that is gone with the process) and keeps it up until the Client is closed.
// The file is created and migrated as needed; another process that has it open
// is an error with CodeUnavailable. Stop workers before closing.
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

// running is a Backend whose background loops run.
type running struct {
	*node.Node
	stop func() error
}

func start(b *node.Node) *running {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	return &running{b, sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-ended, b.Close())
	})}
}

// Close stops the loops and closes the store. Closing again does nothing.
func (r *running) Close() error { return r.stop() }
