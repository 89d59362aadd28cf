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
	"github.com/taskerhq/tasker/internal/broker/dispatch"
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

// Options configures Open and New. Zero fields take defaults.
type Options struct {
	// Logger receives messages of the background loops; by default none.
	Logger   *slog.Logger
	Engine   settings.Config
	Observer engine.Observer
	// Transitions sends each transition of a task or step to the observer.
	Transitions bool
	// Now defaults to the database's clock if it has one, else to the machine's without its glitches (see package
	// clock).
	Now func() time.Time
	// Migrate handles an outdated schema, by default by migration.
	Migrate migration.Mode
	// PoolSize bounds the connections to PostgreSQL; pool_max_conns in the DSN overrides it; 0 is the store's
	// default.
	PoolSize int
	// Dispatch is the URL of a Redis that dispatches ready steps; "" or "native" dispatches through the store.
	Dispatch   string
	Encryption Encryption
	// Blobs keeps results above Engine.Limits.PayloadBytes, which are refused without it.
	Blobs blob.Store
	// RabbitMQ dispatches steps to workers with the transport amqp, which Engine.Delivery must offer.
	RabbitMQ RabbitMQ
	// Drivers are additional brokers of dead letters, by name.
	Drivers driver.Registry
	// Sources and Policies of the configuration are saved when they are new or changed.
	Sources  []*deadletter.Source
	Policies []*deadletter.Policy
	// Carriers connect sources with brokers by driver name, in addition to a node's own or instead of one with that
	// name.
	Carriers map[string]inbox.Carrier
	// Intaken receives the result of each intake batch. It must not block.
	Intaken func(namespace, source string, of inbox.Intaken)
	// Gone receives messages that a broker deleted unread. It must not block.
	Gone    func(namespace, source string, messages int64)
	Letters inbox.Observer
	Firings scheduler.Observer
	// DefaultPolicy applies to dead letters without a stored policy. ReadBatch bounds the messages captured in one
	// transaction; 0 is no bound.
	DefaultPolicy *deadletter.Policy
	ReadBatch     int
	// Webhooks receive events of the inbox. They need a SQL store, and must be the same on all nodes of a database.
	Webhooks []webhook.Endpoint
}

// Node is an engine with its store and its loops. It is a protocol.Backend.
type Node struct {
	*local.Backend

	engine     *engine.Engine
	store      engine.Store
	dispatcher engine.Dispatcher    // nil: the store is the queue
	rabbit     dispatch.Transport   // nil: no worker has the transport amqp
	inbox      *inbox.Inbox         // nil: no rows for dead letters
	schedules  *scheduler.Scheduler // nil: no rows for schedules
	closers    []io.Closer          // connections to brokers and webhooks
	hooked     bool                 // webhooks are configured
	encryption Encryption
	notes      engine.NoteStore
	upkeep     *upkeep.Upkeep
	name       string // of this process among those of the store
	log        *slog.Logger
}

var _ protocol.Backend = (*Node)(nil)

// Open opens the store of a DSN: "sqlite:path" or a plain path, "postgres://..." (see postgres.ParseDSN), or
// "memory:", which ends with the process. Everything that depends on time needs Run.
func Open(ctx context.Context, dsn string, opts Options) (*Node, error) {
	s, err := openStore(ctx, dsn, opts)
	if err != nil {
		return nil, local.ToError(err)
	}
	b, err := New(ctx, s, opts)
	if err != nil {
		_ = s.Close() // the error has the reason
		return nil, err
	}
	return b, nil
}

// New returns a Node on a store, which it then owns unless it returns an error. Engine errors are *tasker.Error.
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

// assemble also stores the settings that the database's views use.
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

// openDispatcher opens the dispatcher of the options; nil for none. An unreachable server is no error.
func openDispatcher(ctx context.Context, s engine.Database, opts Options) (engine.Dispatcher, error) {
	if opts.Dispatch == "" || opts.Dispatch == "native" {
		return nil, nil
	}
	open, err := dispatch.Queues.Find(dispatch.Redis)
	if err != nil {
		return nil, tasker.Errorf(tasker.CodeInvalid, "dispatch: %v", err)
	}
	name, err := installation(ctx, s, s.NoteStore())
	if err != nil {
		return nil, fmt.Errorf("name the installation: %w", local.ToError(err))
	}
	d, err := open(ctx, opts.Dispatch, "tasker-"+name, opts.Logger)
	if err != nil {
		return nil, &tasker.Error{Code: tasker.CodeInvalid, Message: err.Error(),
			Hint: "see docs/reference/configuration.md, dispatch"}
	}
	return d, nil
}

// installation names a database, to separate two databases that share a Redis.
func installation(ctx context.Context, s engine.Writer, notes engine.NoteStore) (string, error) {
	const key = "installation"
	name, err := notes.FindNote(ctx, key)
	if err != nil || name != "" {
		return name, err
	}
	name = uuid.NewString()
	// Only PostgreSQL is shared, and its schema has a name.
	return name, s.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return notes.Note(ctx, tx, key, name) })
}

func compileSchema(schema []byte) (engine.SchemaChecker, error) {
	return template.CompileSchema(schema)
}

// Run works on retries, leases, deadlines and retention until ctx ends.
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

// RunOnce does the due work and returns, for tests and simulations with their own clock.
func (n *Node) RunOnce(ctx context.Context) error { return local.ToError(n.upkeep.RunOnce(ctx)) }

// Ready reports whether the store accepts writes and the encryption keys fit.
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

// Levels returns the metrics of dead-letter sources; none for a store in memory.
func (n *Node) Levels(ctx context.Context) ([]inbox.Level, error) {
	if n.inbox == nil {
		return nil, nil
	}
	levels, err := n.inbox.Levels(ctx)
	return levels, local.ToError(err)
}

// OriginLevels returns the undecided letters by origin; see inbox.Inbox. None without an inbox.
func (n *Node) OriginLevels(ctx context.Context) ([]inbox.OriginLevel, error) {
	if n.inbox == nil {
		return nil, nil
	}
	levels, err := n.inbox.OriginLevels(ctx)
	return levels, local.ToError(err)
}

// IntakeFailures counts the task failures that wait to be written to a queue, up to 10,000, and the oldest's time.
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

// Inbox returns the use cases of dead letters; nil for a store in memory.
func (n *Node) Inbox() *inbox.Inbox { return n.inbox }

// DeadLetters returns Inbox in public types; nil likewise.
func (n *Node) DeadLetters() deadletters.Backend {
	if n.inbox == nil {
		return nil
	}
	return letters.New(n.inbox)
}

// Jobs returns Inbox as failed jobs in queues, for /api/dlq; nil likewise.
func (n *Node) Jobs() dlqapi.Backend {
	if n.inbox == nil {
		return nil
	}
	return letters.NewJobs(n.inbox)
}

// Messages returns Inbox as messages of topics, for /api/v1/dlq; nil likewise.
func (n *Node) Messages() deadletters.TopicBackend {
	if n.inbox == nil {
		return nil
	}
	return letters.NewMessages(n.inbox)
}

// DispatchState returns the current way of steps to workers.
func (n *Node) DispatchState() engine.DispatchState { return n.engine.DispatchState() }

// Close closes the store and the dispatcher after Run has returned.
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
