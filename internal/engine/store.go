package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Database is the database of an Engine: the engine's own rows, and the rows of each other domain behind its own
// role. Only New takes all of it.
type Database interface {
	Store
	CaseStore() CaseStore
	WatchStore() WatchStore
	NoteStore() NoteStore
	ActStore() ActStore
	KeyStore() KeyStore
	QueueStore() QueueStore
	SettingsKeeper

	// Who is signed in, what waits for its turn, and what failed.

	SessionStore() SessionStore
	OrderingStore() OrderingStore
	PauseStore() PauseStore
	GateStore() GateStore
	GroupRows() GroupRows
	ExpiryStore() ExpiryStore

	// What operators limit, what is there once, what fails often, and which tasks are children of steps.

	OperatorLimitStore() OperatorLimitStore
	UniqueStore() UniqueStore
	BurstStore() BurstStore
	OutageStore() OutageStore

	// What long work leaves behind, and the child tasks of steps.

	CheckpointStore() CheckpointStore
	LogStore() LogStore
	LargeResultStore() LargeResultStore
	ChildStore() ChildStore

	// What steps wait for that no worker runs.

	WaitStore() WaitStore
	SignalStore() SignalStore
}

// Store keeps tasks, steps, templates, routes and workers. Every implementation passes
// the suite in store/storetest.
type Store interface {
	Reader
	Writer

	// IDs is the source of the IDs of new tasks, steps and workers.
	IDs() *task.Source

	// Ping reports whether the store answers.
	Ping(ctx context.Context) error

	// Close waits for the write in flight and releases the store.
	Close() error
}

// Writer begins transactions.
type Writer interface {
	// Write runs fn in one transaction and commits it; fn's changes are durable when Write returns nil, and rolled back
	// when it returns an error. fn may run more than once (a serialization failure, or a neighbour in the same group
	// commit that failed), so it starts from scratch each time and changes nothing but tx and its own variables. It
	// uses the ctx that it receives for everything in the transaction. A method without the Tx is another transaction,
	// which fn must not wait for: it is refused with that ctx, as is another Write. See package nesting.
	Write(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a transaction, and the engine's own rows in it. The rows that it returns belong to the transaction: the caller
// changes them and saves the changes. Rows are locked until the end.
//
// The rows of other domains are not methods of it: a domain's role takes the Tx as an argument.
type Tx interface {
	// Handle is the transaction as its store knows it. A Tx that wraps another returns that one's.
	Handle() Handle

	// Steps in their queues: the hot path.

	// Ready returns up to limit steps of the routes, lowest key first, locked; it skips rows locked by another
	// transaction. The caller claims and saves the steps that it takes before it asks again, and leaves the others
	// unchanged: they keep their positions.
	Ready(ctx context.Context, routes []int64, limit int) ([]Work, error)
	// Doubt makes the next Ready read also what the process believes to be empty.
	Doubt()
	// Between returns up to limit steps of a route after a position in its queue and up to a key, in the order of their
	// positions, locked; it skips rows locked elsewhere.
	Between(ctx context.Context, route int64, after Position, upTo int64, limit int) ([]*task.Step, error)
	// Vacant reports whether no step is ready on the route. False may mean "not sure": then nothing is handed off, and
	// steps go through the queue.
	Vacant(ctx context.Context, route int64) (bool, error)
	// Due returns up to limit steps of Timers or Leases whose key is at most until, lowest first, locked; it skips rows
	// locked elsewhere.
	Due(ctx context.Context, queue int64, until task.Instant, limit int) ([]Work, error)

	// Steps in any state.

	// Held returns up to limit steps that the worker holds.
	Held(ctx context.Context, worker int64, limit int) ([]Work, error)
	// Work returns the steps with their tasks, locked, in the order of the IDs; the zero Work for an ID that does not
	// exist.
	Work(ctx context.Context, steps []task.ID) ([]Work, error)
	// Steps returns the steps of each family, locked, in the order of the families; those of one family by ordinal.
	// Steps that do not exist are left out.
	Steps(ctx context.Context, of []Family) ([][]*task.Step, error)
	// SaveSteps stores the changeable fields of the steps.
	SaveSteps(ctx context.Context, steps []*task.Step) error

	// Whole tasks.

	// InsertTasks stores new tasks with their steps.
	InsertTasks(ctx context.Context, tasks []*task.Task, steps []*task.Step) error
	// Contexts returns the contexts of tasks, in the order of the IDs.
	Contexts(ctx context.Context, ids []task.ID) ([][]byte, error)
	// Task returns a task, locked, or nil.
	Task(ctx context.Context, id task.ID) (*task.Task, error)
	// Tasks returns tasks, locked, in the order of the IDs; nil for one that does not exist.
	Tasks(ctx context.Context, ids []task.ID) ([]*task.Task, error)
	// SaveTasks stores the changeable fields of the tasks. It stores the priority only with a Meta that may have
	// changed.
	SaveTasks(ctx context.Context, tasks []*task.Task) error
	// SaveContext stores the context of a task that SaveTasks has stored in the same transaction with another
	// Meta.ContextEdits: caches of contexts tell versions apart by that number.
	SaveContext(ctx context.Context, t *task.Task) error

	// Attempts and events.

	AddAttempts(ctx context.Context, attempts []task.Attempt) error
	AddEvents(ctx context.Context, events []task.Event) error

	// Tasks past their deadline or their retention.

	// Overdue returns up to limit tasks whose deadline is at most until, locked.
	Overdue(ctx context.Context, until task.Instant, limit int) ([]*task.Task, error)
	// DeleteFinished deletes up to limit terminal tasks that finished before a time, with everything that belongs to
	// them except acts, and returns how many. It keeps a task that has a case, and one to which an idempotency key may
	// be bound whose window began after window: see task.Task.KeyLives.
	DeleteFinished(ctx context.Context, before, window task.Instant, limit int) (int, error)

	// Templates and routes.

	// InsertTemplate stores a version and sets its DefID. It returns the stored
	// one instead when namespace, name and version exist.
	InsertTemplate(ctx context.Context, t *task.Template) (existing *task.Template, err error)
	// Template returns a template by its key, or nil.
	Template(ctx context.Context, def int64) (*task.Template, error)
	// ExpectKnown fails the transaction with ErrReplaced unless the templates and the routes, by their numbers, are
	// stored under the same names. The failure may come only at the commit. A store that belongs to one process need
	// not check.
	ExpectKnown(ctx context.Context, templates map[int64]*task.Template, routes map[int64]*task.Route) error
	// InsertRoute stores a route and sets its ID, or finds the existing one.
	InsertRoute(ctx context.Context, r *task.Route) error

	// Workers.

	// SaveWorker inserts a worker whose No is 0, and sets it; else updates it.
	SaveWorker(ctx context.Context, w *task.Worker) error
	// Workers returns workers by their numbers, which must be ascending, locked and in that order. Those that do not
	// exist are left out.
	Workers(ctx context.Context, nos []int64) ([]*task.Worker, error)
	// ForgetWorkers deletes up to limit dead workers last seen before a time.
	ForgetWorkers(ctx context.Context, before task.Instant, limit int) (int, error)
}

// Handle is an open transaction of a store. With it the role of a domain reaches the domain's tables in a transaction
// that another function has begun: see store.In, and memstore.
type Handle interface {
	// AfterCommit calls fn once the transaction is committed, before Write returns; never when it is rolled back, and
	// not for a run that is repeated. fn must not block, nor begin a transaction. AfterCommit reports false, and drops
	// fn, where the commit cannot be observed: the owner of the transaction ends it elsewhere.
	AfterCommit(fn func()) bool

	// AfterRollback calls fn once a run of the transaction has failed, before another run of it begins. sure is false
	// where the commit failed in a way that leaves open whether it took place. In all other respects it is like
	// AfterCommit: of the two, exactly one is called for each run, and neither where AfterCommit reports false.
	AfterRollback(fn func(sure bool))
}

// Work is a step together with its task. Steps of one task share the Task. The task's Context is set only when the step
// came from Ready.
type Work struct {
	Step *task.Step
	Task *task.Task
}

// Position is the position of a step in a queue: after all steps with a lower key, and after those with the same key
// and a lower ID.
type Position struct {
	Key int64
	ID  task.ID
}

// Family names steps of one task: those with the ordinals, in any order, which may not exist; all steps when Ordinals
// is nil.
type Family struct {
	Task     task.ID
	Ordinals []int
}

// Sized is a task and its number of steps.
type Sized struct {
	Task  task.ID
	Steps int
}

// TaskFilter selects tasks. Zero fields do not restrict.
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
	Below         task.ID      // exclusive; zero starts at the newest
	Limit         int
	// Contexts includes the contexts of the tasks, which are otherwise left out.
	Contexts bool
	// Bytes ends a page early once the contexts on it reach this size in total. 0: no bound.
	Bytes int
}

// TemplateFilter selects templates. Zero fields do not restrict.
type TemplateFilter struct {
	Namespace string
	Name      string
	Below     int64 // DefID, exclusive; 0 starts at the newest
	Limit     int
}
