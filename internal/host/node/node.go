package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/blob"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/dlqapi"
	"github.com/taskerhq/tasker/internal/api/letters"
	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/broker/dispatch/rabbitmq"
	"github.com/taskerhq/tasker/internal/broker/dispatch/redis"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/webhook"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/template"
	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Options configures Open and New. A zero field selects the default.
type Options struct {
	// Logger receives the messages of the background loops. Defaults to discarding them.
	Logger *slog.Logger
	// Engine is the engine's configuration. Its zero fields take their defaults.
	Engine settings.Config
	// Observer observes transactions. Defaults to none.
	Observer engine.Observer
	// Transitions makes the observer receive each transition of a task or step.
	Transitions bool
	// Now is the clock. Defaults to that of the database where it has one, else to the machine's
	// without its glitches (see package clock).
	Now func() time.Time
	// Migrate selects the handling of an outdated schema. Defaults to migrating it.
	Migrate migration.Mode
	// PoolSize bounds the connections to PostgreSQL; pool_max_conns in the DSN overrides it. 0 selects the
	// store's default.
	PoolSize int
	// Dispatch is the URL of a Redis through which ready steps reach workers; "" or "native" dispatches
	// through the store.
	Dispatch string
	// Encryption has the keys with which sensitive values are stored.
	Encryption Encryption
	// Blobs keeps results above Engine.Limits.PayloadBytes. Defaults to none: they are refused.
	Blobs blob.Store
	// RabbitMQ dispatches steps to workers with the transport amqp. Engine.Delivery must offer it.
	RabbitMQ RabbitMQ
	// Drivers connect to brokers of dead letters, by their names, in addition to those that a node has.
	Drivers driver.Registry
	// Sources are the sources of dead letters of the configuration: each is saved when it is new or has changed.
	Sources []*deadletter.Source
	// Policies are those of the sources; they are saved likewise.
	Policies []*deadletter.Policy
	// Carriers connect sources of dead letters with brokers, by the names of their drivers. They are used in addition to
	// those that a node has, and in place of one of the same name.
	Carriers map[string]inbox.Carrier
	// Intaken is told what became of each batch of messages that was taken in. It must not block. Defaults to none.
	Intaken func(namespace, source string, of inbox.Intaken)
	// Gone is told of messages that a broker has deleted before they were read. It must not block. Defaults to none.
	Gone func(namespace, source string, messages int64)
	// Letters is told what happens to dead letters. Defaults to none.
	Letters inbox.Observer
	// Firings is told what becomes of the times of schedules. Defaults to none.
	Firings scheduler.Observer
	// DefaultPolicy is for dead letters that no stored policy is for, and ReadBatch bounds the messages that are captured
	// in one transaction. Default to none, and to no bound.
	DefaultPolicy *deadletter.Policy
	ReadBatch     int
	// Webhooks receive events of the inbox. They need a SQL store. All nodes of a database must have the same. Defaults
	// to none.
	Webhooks []webhook.Endpoint
}

// Node is an engine with its store and its loops. It is a protocol.Backend.
type Node struct {
	*local.Backend

	engine     *engine.Engine
	store      engine.Store
	dispatcher engine.Dispatcher    // nil: the store is the queue
	rabbit     *rabbitmq.Dispatcher // nil: no worker has the transport amqp
	inbox      *inbox.Inbox         // nil: the store has no rows for dead letters
	schedules  *scheduler.Scheduler // nil: the store has no rows for schedules
	closers    []io.Closer          // connections to brokers and webhooks
	hooked     bool                 // webhooks are configured
	encryption Encryption
	notes      engine.NoteStore
	upkeep     *upkeep.Upkeep
	name       string // of this process among those that share the store
	log        *slog.Logger
}

var _ protocol.Backend = (*Node)(nil)

// Open opens the store that a DSN names: "sqlite:path" or a plain path, "postgres://..." (see
// postgres.ParseDSN), or "memory:" for a store that ends with the process. Everything that depends on time
// needs Run.
func Open(ctx context.Context, dsn string, opts Options) (*Node, error) {
	s, err := openStore(ctx, dsn, opts)
	if err != nil {
		return nil, local.ToError(err)
	}
	b, err := New(ctx, s, opts)
	if err != nil {
		_ = s.Close() // the reason of the failure is already in the error
		return nil, err
	}
	return b, nil
}

// New returns a Node on a store, and owns the store unless it returns an error. Engine errors
// come as *tasker.Error.
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

// assemble makes the engine and its loops, and stores the settings that the database's views
// use.
func assemble(ctx context.Context, s engine.Database, d engine.Dispatcher, opts Options) (*Node, error) {
	o := engine.Options{Config: opts.Engine, Now: opts.Now, Schemas: compileSchema, Observer: opts.Observer,
		Transitions: opts.Transitions, Dispatcher: d, Blobs: blobsOf(opts.Blobs, opts.Logger)}
	timeOf(s, &o)
	ruler, grouper := openRuler(s)
	hooks := &eventHooks{}
	seals, err := openSeals(ctx, s, clockOf(s, o.Now), opts.Encryption, opts.Logger)
	if err != nil {
		return nil, local.ToError(err)
	}
	o.Grouper, o.Hooks, o.Seals = grouper, hooks, seals
	e, err := engine.New(ctx, s, o)
	if err != nil {
		return nil, local.ToError(err)
	}
	if err := e.KeepSettings(ctx); err != nil {
		return nil, local.ToError(err)
	}
	b := local.New(e, s)
	in, loops, closers := openInbox(s, e, b, ruler, opts)
	hooks.inbox = in
	loops = append(loops, sealing(s, e)...)
	loops = append(loops, rebuilding(s, opts.Logger)...)
	plans, firing := openSchedules(s, e, seals, hooks, opts)
	loops = append(loops, firing...)
	rabbit, removal, err := openRabbitMQ(e, b, in, opts)
	if err != nil {
		return nil, err
	}
	loops = append(loops, removal...)
	if err := declareSources(ctx, in, opts.Sources, opts.Policies); err != nil {
		return nil, err
	}
	return &Node{Backend: b, engine: e, store: s, encryption: opts.Encryption, notes: s.NoteStore(),
		dispatcher: d, rabbit: rabbit, inbox: in, schedules: plans, closers: closers,
		hooked: len(opts.Webhooks) > 0, name: uuid.NewString(), log: opts.Logger,
		upkeep: upkeep.New(e, opts.Logger, loops...)}, nil
}

// openDispatcher opens the dispatcher that the options name; nil for none. An unreachable server is no error.
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
		return nil, &tasker.Error{Code: tasker.CodeInvalid, Message: err.Error(),
			Hint: "see docs/reference/configuration.md, dispatch"}
	}
	return d, nil
}

// installation is the name of a database. It separates the queues of two databases that share one Redis.
func installation(ctx context.Context, s engine.Writer, notes engine.NoteStore) (string, error) {
	const key = "installation"
	name, err := notes.FindNote(ctx, key)
	if err != nil || name != "" {
		return name, err
	}
	name = uuid.NewString()
	// Only PostgreSQL is shared, and its schema has a name of its own.
	return name, s.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return notes.Note(ctx, tx, key, name) })
}

func compileSchema(schema []byte) (engine.SchemaChecker, error) {
	return template.CompileSchema(schema)
}

// Run performs the work that depends on time (retries, leases, deadlines, retention) until ctx ends. It
// blocks.
func (n *Node) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var reading sync.WaitGroup
	if n.inbox != nil {
		reading.Go(func() { n.inbox.Read(ctx, n.name, n.log) })
	}
	if n.rabbit != nil {
		reading.Go(func() { n.rabbit.Run(ctx) })
	}
	if n.hooked {
		reading.Go(func() { n.deliver(ctx, n.log) })
	}
	err := n.upkeep.Run(ctx)
	stop()
	reading.Wait()
	return err
}

// RunOnce performs the work that is due now and returns. Tests and simulations with their own clock call it
// in place of Run.
func (n *Node) RunOnce(ctx context.Context) error { return local.ToError(n.upkeep.RunOnce(ctx)) }

// Ready reports whether the store answers and accepts writes, and the encryption keys are those that it needs.
func (n *Node) Ready(ctx context.Context) error {
	if err := n.engine.Ready(ctx); err != nil {
		return local.ToError(err)
	}
	return n.hasKeys(ctx)
}

// Census counts the stored objects, for metrics.
func (n *Node) Census(ctx context.Context) (*engine.Census, error) {
	c, err := n.engine.Census(ctx)
	return c, local.ToError(err)
}

// Levels returns how sources of dead letters stand, for metrics; none for a store in memory.
func (n *Node) Levels(ctx context.Context) ([]inbox.Level, error) {
	if n.inbox == nil {
		return nil, nil
	}
	levels, err := n.inbox.Levels(ctx)
	return levels, local.ToError(err)
}

// OriginLevels returns how many letters of each origin are to be decided; see inbox.Inbox. None without an inbox.
func (n *Node) OriginLevels(ctx context.Context) ([]inbox.OriginLevel, error) {
	if n.inbox == nil {
		return nil, nil
	}
	levels, err := n.inbox.OriginLevels(ctx)
	return levels, local.ToError(err)
}

// IntakeFailures returns how many failures of tasks are still to be written to a queue, up to 10,000, and the time of
// the oldest one, for metrics.
func (n *Node) IntakeFailures(ctx context.Context) (waiting int, oldest time.Time, err error) {
	if n.inbox == nil {
		return 0, oldest, nil
	}
	waiting, at, err := n.inbox.IntakeFailures(ctx)
	if at != 0 {
		oldest = at.Time()
	}
	return waiting, oldest, local.ToError(err)
}

// Inbox returns the use cases of dead letters; nil for a store in memory, which has none.
func (n *Node) Inbox() *inbox.Inbox { return n.inbox }

// DeadLetters returns them for programs, in public types; nil likewise.
func (n *Node) DeadLetters() deadletters.Backend {
	if n.inbox == nil {
		return nil
	}
	return letters.New(n.inbox)
}

// Jobs returns them as failed jobs in queues, for the family /api/dlq; nil likewise.
func (n *Node) Jobs() dlqapi.Backend {
	if n.inbox == nil {
		return nil
	}
	return letters.NewJobs(n.inbox)
}

// Messages returns them as messages of topics, for the family /api/v1/dlq; nil likewise.
func (n *Node) Messages() deadletters.TopicBackend {
	if n.inbox == nil {
		return nil
	}
	return letters.NewMessages(n.inbox)
}

// DispatchState returns the present way of steps to workers.
func (n *Node) DispatchState() engine.DispatchState { return n.engine.DispatchState() }

// Close closes the store, and the dispatcher if there is one. Run must have returned.
func (n *Node) Close() error {
	if n.dispatcher != nil {
		n.engine.FlushDispatch()
		n.dispatcher.Close()
	}
	var errs []error
	for _, c := range n.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, n.store.Close())...)
}
