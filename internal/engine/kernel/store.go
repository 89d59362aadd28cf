package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Database has the engine's own rows, and a role for the rows of each other domain. Only New uses all of it.
type Database interface {
	Store
	CaseStore() CaseStore
	WatchStore() WatchStore
	NoteStore() NoteStore
	ActStore() ActStore
	KeyStore() KeyStore
	QueueStore() QueueStore
	SettingsKeeper

	// Sessions, queued turns and failures.

	SessionStore() SessionStore
	OrderingStore() OrderingStore
	PauseStore() PauseStore
	GateStore() GateStore
	GroupRows() GroupRows
	ExpiryStore() ExpiryStore

	// Operators' limits, singletons, frequent failures and children.

	OperatorLimitStore() OperatorLimitStore
	UniqueStore() UniqueStore
	BurstStore() BurstStore
	OutageStore() OutageStore

	// Remains of long work, and child tasks.

	CheckpointStore() CheckpointStore
	LogStore() LogStore
	LargeResultStore() LargeResultStore
	ChildStore() ChildStore

	// Waits without a worker.

	WaitStore() WaitStore
	SignalStore() SignalStore
}

// Store keeps tasks, steps, templates, routes and workers. Every implementation passes store/storetest.
type Store interface {
	Reader
	Writer

	IDs() *task.Source

	Ping(ctx context.Context) error

	// Close waits for the write in flight and releases the store.
	Close() error
}

// Writer begins transactions.
type Writer interface {
	// Write runs fn in one transaction and commits it durably, or rolls it back on an error. fn may run more than
	// once (a serialization failure, or a failed neighbour in the group commit), so it changes nothing but tx and its
	// own variables. It uses the ctx that it receives. With that ctx, another Write or a method without the Tx is
	// refused: fn must not wait for another transaction. See package nesting.
	Write(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a transaction with the engine's own rows, which stay locked until its end. The caller changes and saves
// returned rows.
//
// The roles of other domains take the Tx as an argument.
type Tx interface {
	// Handle is the store's transaction, also of a wrapping Tx.
	Handle() Handle

	// Steps in their queues: the hot path.

	// Ready returns up to limit steps of the routes, lowest key first, locked; it skips locked rows. The caller saves
	// claimed steps before the next call; unchanged ones keep their positions.
	Ready(ctx context.Context, routes []int64, limit int) ([]Work, error)
	// Doubt makes the next Ready read routes believed to be empty.
	Doubt()
	// Between returns up to limit steps of a route after a position and up to a key, in order, locked; it skips
	// locked rows.
	Between(ctx context.Context, route int64, after Position, upTo int64, limit int) ([]*task.Step, error)
	// Vacant reports whether the route has no ready step. False may mean "not sure": then steps go through the queue.
	Vacant(ctx context.Context, route int64) (bool, error)
	// Due returns up to limit steps of Timers or Leases with a key of at most until, lowest first, locked; it skips
	// locked rows.
	Due(ctx context.Context, queue int64, until task.Instant, limit int) ([]Work, error)

	// Steps in any state.

	Held(ctx context.Context, worker int64, limit int) ([]Work, error)
	// Work returns the steps with their tasks, locked, in the order of the IDs; the zero Work for an unknown ID.
	Work(ctx context.Context, steps []task.ID) ([]Work, error)
	// Steps returns the existing steps of each family by ordinal, locked, in the order of the families.
	Steps(ctx context.Context, of []Family) ([][]*task.Step, error)
	// SaveSteps stores the changeable fields.
	SaveSteps(ctx context.Context, steps []*task.Step) error

	// Whole tasks.

	InsertTasks(ctx context.Context, tasks []*task.Task, steps []*task.Step) error
	// Contexts returns contexts in the order of the IDs.
	Contexts(ctx context.Context, ids []task.ID) ([][]byte, error)
	// Task returns a task, locked, or nil.
	Task(ctx context.Context, id task.ID) (*task.Task, error)
	// Tasks returns tasks, locked, in the order of the IDs; nil for an unknown one.
	Tasks(ctx context.Context, ids []task.ID) ([]*task.Task, error)
	// SaveTasks stores the changeable fields; the priority only with a Meta that may have changed.
	SaveTasks(ctx context.Context, tasks []*task.Task) error
	// SaveContext stores the context of a task after SaveTasks with another Meta.ContextEdits, by which caches
	// distinguish versions.
	SaveContext(ctx context.Context, t *task.Task) error

	// Attempts and events.

	AddAttempts(ctx context.Context, attempts []task.Attempt) error
	AddEvents(ctx context.Context, events []task.Event) error

	// Tasks past their deadline or their retention.

	// Overdue returns up to limit tasks with a deadline of at most until, locked.
	Overdue(ctx context.Context, until task.Instant, limit int) ([]*task.Task, error)
	// DeleteFinished deletes up to limit tasks that finished before a time, with their rows except acts, and returns
	// how many. It keeps tasks with a case, and those with an idempotency key whose window began after window: see
	// task.Task.KeyLives.
	DeleteFinished(ctx context.Context, before, window task.Instant, limit int) (int, error)

	// Templates and routes.

	// InsertTemplate stores a version and sets its DefID, or returns the existing one.
	InsertTemplate(ctx context.Context, t *task.Template) (existing *task.Template, err error)
	// Template returns nil for an unknown key.
	Template(ctx context.Context, def int64) (*task.Template, error)
	// ExpectKnown fails the transaction with ErrReplaced, perhaps only at the commit, unless the templates and routes
	// are stored under these names. A store of one process need not check.
	ExpectKnown(ctx context.Context, templates map[int64]*task.Template, routes map[int64]*task.Route) error
	// InsertRoute stores a route, or finds the existing one, and sets its ID.
	InsertRoute(ctx context.Context, r *task.Route) error

	// Workers.

	// SaveWorker inserts a worker with No 0, and sets it; else updates it.
	SaveWorker(ctx context.Context, w *task.Worker) error
	// Workers returns existing workers in the order of their numbers, which must be ascending, locked.
	Workers(ctx context.Context, nos []int64) ([]*task.Worker, error)
	// ForgetWorkers deletes up to limit dead workers last seen before a time.
	ForgetWorkers(ctx context.Context, before task.Instant, limit int) (int, error)
}

// Handle is an open transaction of a store, with which a domain's role reaches its tables: see store.In, and
// memstore.
type Handle interface {
	// AfterCommit calls fn after the commit, before Write returns; not after a rollback or for a repeated run. fn
	// must not block, nor begin a transaction. AfterCommit reports false, and drops fn, where another owner commits
	// the transaction.
	AfterCommit(fn func()) bool

	// AfterRollback calls fn after a failed run, before the next one. sure is false where the commit may have taken
	// place. For each run exactly one of AfterCommit's and AfterRollback's functions is called, and neither where
	// AfterCommit reports false.
	AfterRollback(fn func(sure bool))
}

// Work is a step with its task, which steps of one task share. The task's Context is set only by Ready.
type Work struct {
	Step *task.Step
	Task *task.Task
}

// Position is a position in a queue, after all steps with a lower key, or the same key and a lower ID.
type Position struct {
	Key int64
	ID  task.ID
}

// Family names steps of one task by ordinals, which may not exist; nil: all.
type Family struct {
	Task     task.ID
	Ordinals []int
}

// Sized is a task and its number of steps.
type Sized struct {
	Task  task.ID
	Steps int
}

// TaskFilter selects tasks. Zero fields match all.
type TaskFilter struct {
	States        []task.State
	Namespace     string
	Name          string
	Version       string
	Tag           string
	CorrelationID string
	Initiator     string
	Priority      *int
	CreatedAfter  task.Instant // inclusive
	CreatedBefore task.Instant // exclusive
	Below         task.ID      // exclusive; zero: the newest
	Limit         int
	Contexts      bool
	// Bytes ends a page early at this size of contexts. 0: no bound.
	Bytes int
}

// TemplateFilter selects templates. Zero fields match all.
type TemplateFilter struct {
	Namespace string
	Name      string
	Below     int64 // DefID, exclusive; 0: the newest
	Limit     int
}
