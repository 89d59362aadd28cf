package node

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dispatch/redis"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/local"
	"github.com/taskerhq/tasker/internal/migration"
	"github.com/taskerhq/tasker/internal/settings"
	"github.com/taskerhq/tasker/internal/template"
	"github.com/taskerhq/tasker/internal/upkeep"
)

// Options tune Open and New. The zero value is good.
type Options struct {
	// Logger gets what the background loops did. Defaults to discarding.
	Logger *slog.Logger
	// Engine's zero fields take their defaults.
	Engine settings.Config
	// Observer is told what transactions did. Defaults to none.
	Observer engine.Observer
	// Transitions has the observer told of each transition of a task or step by itself.
	Transitions bool
	// Now is the clock. Defaults to that of the database where it has one, else to the machine's
	// without its glitches (see package clock).
	Now func() time.Time
	// Migrate says what is done about a schema that is behind. Defaults to
	// migrating it.
	Migrate migration.Mode
	// PoolSize bounds the connections to PostgreSQL; pool_max_conns in the DSN goes
	// before it. 0 leaves it to the store.
	PoolSize int
	// Dispatch is the URL of a Redis through which ready steps reach workers; "" or
	// "native" is the way through the store.
	Dispatch string
}

// Node is an engine with its store and its loops, and a tasker.Backend on them.
type Node struct {
	*local.Backend

	engine     *engine.Engine
	store      engine.Store
	dispatcher engine.Dispatcher // nil: the store is the queue
	upkeep     *upkeep.Upkeep
}

var _ tasker.Backend = (*Node)(nil)

// Open opens the store that a DSN names: "sqlite:path" or a plain path,
// "postgres://..." (see postgres.ParseDSN), or "memory:" for one that is gone with
// the process. Run has to be called for anything that depends on time.
func Open(ctx context.Context, dsn string, opts Options) (*Node, error) {
	s, err := openStore(ctx, dsn, opts)
	if err != nil {
		return nil, local.ToError(err)
	}
	b, err := New(ctx, s, opts)
	if err != nil {
		_ = s.Close() // why it cannot be used is the news
		return nil, err
	}
	return b, nil
}

// New returns a Node on a store, which it owns from now on if there is no error.
func New(ctx context.Context, s engine.Database, opts Options) (*Node, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	d, err := openDispatcher(ctx, s, opts)
	if err != nil {
		return nil, err
	}
	b, err := assemble(ctx, s, d, opts)
	if err != nil && d != nil {
		d.Close()
	}
	return b, err
}

func assemble(ctx context.Context, s engine.Database, d engine.Dispatcher, opts Options) (*Node, error) {
	now, stepped := timeOf(s, opts.Now)
	e, err := engine.New(ctx, s, engine.Options{Config: opts.Engine, Now: now, Stepped: stepped, Schemas: compileSchema,
		Observer:    opts.Observer,
		Transitions: opts.Transitions, Dispatcher: d})
	if err != nil {
		return nil, local.ToError(err)
	}
	if err := e.KeepSettings(ctx); err != nil {
		return nil, local.ToError(err)
	}
	return &Node{Backend: local.New(e, s), engine: e, store: s, dispatcher: d, upkeep: upkeep.New(e, opts.Logger)}, nil
}

// openDispatcher opens what the options name; nil for none. A server that cannot be
// reached now is no error.
func openDispatcher(ctx context.Context, s engine.Database, opts Options) (engine.Dispatcher, error) {
	if opts.Dispatch == "" || opts.Dispatch == "native" {
		return nil, nil
	}
	name, err := installation(ctx, s, s.NoteStore())
	if err != nil {
		return nil, fmt.Errorf("name the installation: %w", local.ToError(err))
	}
	d, err := redis.Open(ctx, opts.Dispatch, &redis.Options{Prefix: "tasker-" + name, Logger: opts.Logger})
	if err != nil {
		return nil, &tasker.Error{Code: tasker.CodeInvalid, Message: err.Error(), Hint: "see docs/configuration.md, dispatch"}
	}
	return d, nil
}

// installation is the name of a database, by which others tell it from theirs: in a
// Redis, where the steps of two must not come to stand in one queue.
func installation(ctx context.Context, s engine.Writer, notes engine.NoteStore) (string, error) {
	const key = "installation"
	name, err := notes.FindNote(ctx, key)
	if err != nil || name != "" {
		return name, err
	}
	name = uuid.NewString()
	// only PostgreSQL is shared, and there the schema comes with a name
	return name, s.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return notes.Note(ctx, tx, key, name) })
}

func compileSchema(schema []byte) (engine.SchemaChecker, error) {
	return template.CompileSchema(schema)
}

// Run keeps up what depends on time (retries, leases, deadlines, retention)
// until ctx ends. It blocks.
func (n *Node) Run(ctx context.Context) error { return n.upkeep.Run(ctx) }

// RunOnce does what is due now, and returns: for tests and simulations with a
// clock of their own, in place of Run.
func (n *Node) RunOnce(ctx context.Context) error { return local.ToError(n.upkeep.RunOnce(ctx)) }

// Ready reports whether the store answers and takes writes.
func (n *Node) Ready(ctx context.Context) error { return local.ToError(n.engine.Ready(ctx)) }

// Census counts what there is, for metrics.
func (n *Node) Census(ctx context.Context) (*engine.Census, error) {
	c, err := n.engine.Census(ctx)
	return c, local.ToError(err)
}

// Dispatch says how steps reach workers just now.
func (n *Node) Dispatch() engine.DispatchState { return n.engine.Dispatch() }

// Close closes the store, and the dispatcher if there is one. Run must have returned.
func (n *Node) Close() error {
	if n.dispatcher != nil {
		n.engine.FlushDispatch()
		n.dispatcher.Close()
	}
	return n.store.Close()
}
