package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/feed"
	"github.com/taskerhq/tasker/internal/task"
)

// Store is what the engine needs of a database. Every implementation passes
// the suite in store/storetest.
type Store interface {
	Reader

	// Write runs fn in one transaction and commits it; fn's changes are durable
	// when Write returns nil, and gone when it returns an error. fn may run more
	// than once (a serialization failure, or a neighbour in the same group commit
	// that failed), so it starts from scratch each time and touches nothing but
	// tx and its own variables.
	Write(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error

	// IDs is the source of the IDs of new tasks, steps and workers.
	IDs() *task.Source

	// Ping reports whether the store answers.
	Ping(ctx context.Context) error

	// Close waits for the write in flight and releases the store.
	Close() error
}

// Work is a step together with its task. Steps of one task share the Task. The
// task's Context is only there when the step came from Ready.
type Work struct {
	Step *task.Step
	Task *task.Task
}

// Tx is a transaction. What it hands out belongs to the transaction: the
// caller changes it and saves what it changed. Rows are locked until the end.
type Tx interface {
	TxWork
	TxTasks
	TxRecords
	TxRegistry
	TxCases
	TxWatches
}

// TxWork is the hot path: steps in their queues.
type TxWork interface {
	// Ready returns up to limit steps of the routes, lowest key first, locked;
	// rows that another transaction holds are passed over. The caller claims and
	// saves those that it takes before it asks again, and leaves the others as they
	// are: they stay in their place.
	Ready(ctx context.Context, routes []int64, limit int) ([]Work, error)
	// Between returns up to limit steps of a route behind a place in its queue and up
	// to a key, in the order of their places, locked; rows held elsewhere are passed over.
	Between(ctx context.Context, route int64, after Position, upTo int64, limit int) ([]*task.Step, error)
	// Vacant reports whether no step is ready on the route. False may mean "not
	// sure": then nothing is handed off and the queue decides.
	Vacant(ctx context.Context, route int64) (bool, error)
	// Due returns up to limit steps of Timers or Leases whose key is at most
	// until, lowest first, locked; rows held elsewhere are passed over.
	Due(ctx context.Context, queue int64, until task.Instant, limit int) ([]Work, error)
	// FirstDue returns the lowest key of Timers or Leases above after, without
	// locking anything; 0 when there is none.
	FirstDue(ctx context.Context, queue int64, after task.Instant) (task.Instant, error)
	// Held returns up to limit steps that the worker holds.
	Held(ctx context.Context, worker int64, limit int) ([]Work, error)
	// Work returns the steps with their tasks, locked, in the order asked; the
	// zero Work for an ID that does not exist.
	Work(ctx context.Context, steps []task.ID) ([]Work, error)
	// SaveSteps stores what can change of the steps.
	SaveSteps(ctx context.Context, steps []*task.Step) error
}

// Position is the place of a step in a queue: behind all of a lower key, and behind those of
// its key with a lower ID.
type Position struct {
	Key int64
	ID  task.ID
}

// Family names steps of one task: those with the ordinals, in any order and
// known or not; all when Ordinals is nil.
type Family struct {
	Task     task.ID
	Ordinals []int
}

// Sized is a task and how many steps it has.
type Sized struct {
	Task  task.ID
	Steps int
}

// TxTasks is about whole tasks.
type TxTasks interface {
	// InsertTasks stores new tasks with their steps.
	InsertTasks(ctx context.Context, tasks []*task.Task, steps []*task.Step) error
	// Contexts returns the contexts of tasks, in the order asked.
	Contexts(ctx context.Context, ids []task.ID) ([][]byte, error)
	// Task returns a task, locked, or nil.
	Task(ctx context.Context, id task.ID) (*task.Task, error)
	// Tasks returns tasks, locked, in the order asked; nil for one that does not exist.
	Tasks(ctx context.Context, ids []task.ID) ([]*task.Task, error)
	// Steps returns the steps of each family, locked, in the order asked; those of
	// one family by ordinal. What does not exist is left out of its family.
	Steps(ctx context.Context, of []Family) ([][]*task.Step, error)
	// SaveTasks stores what can change of the tasks. Their priority is only stored
	// with a Meta that may have changed.
	SaveTasks(ctx context.Context, tasks []*task.Task) error
	// SaveContext stores the context of a task that SaveTasks has stored in the same
	// transaction with another Meta.ContextEdits: what remembers contexts tells them
	// apart by that.
	SaveContext(ctx context.Context, t *task.Task) error
	// Overdue returns up to limit tasks whose deadline is at most until, locked.
	Overdue(ctx context.Context, until task.Instant, limit int) ([]*task.Task, error)
	// DeleteFinished deletes up to limit terminal tasks that finished before a
	// time, with all that belongs to them but for acts, and returns how many. A task
	// that has a case stays.
	DeleteFinished(ctx context.Context, before task.Instant, limit int) (int, error)
}

// TxRecords is what is only ever added, or looked up by a key of its own.
type TxRecords interface {
	AddAttempts(ctx context.Context, attempts []task.Attempt) error
	AddEvents(ctx context.Context, events []task.Event) error
	// AddActs stores acts. Nothing changes or deletes them, not even the deletion of
	// the task that they are about.
	AddActs(ctx context.Context, acts []task.Act) error
	// TakeKeys binds idempotency keys, each named once, until expires, and answers each in order. One that is
	// bound already (and not expired at now) stays as it is.
	//
	// Another transaction may be about to bind one of them. Then a caller that is patient waits for the end of that
	// transaction; for others nothing is bound and the error is ErrKeyLocked, after which this transaction can go on.
	TakeKeys(ctx context.Context, asks []KeyAsk, now, expires task.Instant, patient bool) ([]KeyAnswer, error)
	// BindKey binds an idempotency key until expires, whatever it is bound to.
	BindKey(ctx context.Context, name KeyName, to Binding, expires task.Instant) error
	// DropKeys deletes up to limit keys that expired before a time.
	DropKeys(ctx context.Context, before task.Instant, limit int) (int, error)
}

// TxRegistry is about templates, routes and workers.
type TxRegistry interface {
	// InsertTemplate stores a version and sets its DefID. It returns the stored
	// one instead when namespace, name and version exist.
	InsertTemplate(ctx context.Context, t *task.Template) (existing *task.Template, err error)
	// Template returns a template by its key, or nil.
	Template(ctx context.Context, def int64) (*task.Template, error)
	// ExpectKnown fails the transaction with ErrReplaced unless the templates and the routes, by their numbers,
	// are stored under the same names. It may fail as late as with the commit. A store that belongs to one
	// process need not look.
	ExpectKnown(ctx context.Context, templates map[int64]*task.Template, routes map[int64]*task.Route) error
	// InsertRoute stores a route and sets its ID, or finds the one that exists.
	InsertRoute(ctx context.Context, r *task.Route) error
	// SaveWorker inserts a worker whose No is 0, and sets it; else updates it.
	SaveWorker(ctx context.Context, w *task.Worker) error
	// Workers returns workers by their numbers, which are ascending, locked and in that
	// order. Those that do not exist are left out.
	Workers(ctx context.Context, nos []int64) ([]*task.Worker, error)
	// ForgetWorkers deletes up to limit dead workers last seen before a time.
	ForgetWorkers(ctx context.Context, before task.Instant, limit int) (int, error)
}

// Reader answers questions from a committed state. An answer that does not
// exist is nil, or empty; an error is always the store's.
type Reader interface {
	ReadTasks
	ReadRegistry
	ReadCases
	ReadWatches
	ReadQueues
}

// ReadTasks is the part of Reader about tasks.
type ReadTasks interface {
	FindTask(ctx context.Context, id task.ID) (*task.Task, error)
	// TaskStatuses returns how tasks are, in any order; what does not exist is left out.
	TaskStatuses(ctx context.Context, ids []task.ID) ([]feed.TaskStatus, error)
	// ListTasks returns a page, newest first, and the ID to continue below: zero
	// at the end. It examines a bounded number of rows, so a page may be short.
	ListTasks(ctx context.Context, f TaskFilter) ([]*task.Task, task.ID, error)
	// BoundTasks returns the tasks that idempotency keys are bound to at a time. A key
	// that is not bound is left out.
	BoundTasks(ctx context.Context, names []KeyName, now task.Instant) (map[KeyName]task.ID, error)
	// FindSteps returns all steps of a task by ordinal.
	FindSteps(ctx context.Context, id task.ID) ([]*task.Step, error)
	// BareSteps returns all steps of tasks without their results, in any order.
	BareSteps(ctx context.Context, of []Sized) ([]*task.Step, error)
	// Results returns the results of steps of one task, in the order asked, until they
	// come to so many bytes together; those behind are left out.
	Results(ctx context.Context, steps []task.ID, bytes int) (map[task.ID][]byte, error)
	// InQueues returns those steps of tasks that stand in a queue, in any order: ready,
	// leased, or waiting for a time.
	InQueues(ctx context.Context, of []Sized) ([]*task.Step, error)
	// CountHeld counts the steps that workers hold, by their numbers. Who holds none is
	// left out.
	CountHeld(ctx context.Context) (map[int64]int, error)
	// FindAttempts, FindEvents and FindActs are oldest first.
	FindAttempts(ctx context.Context, id task.ID) ([]task.Attempt, error)
	FindEvents(ctx context.Context, id task.ID) ([]task.Event, error)
	FindActs(ctx context.Context, id task.ID) ([]task.Act, error)
	// Depth counts the steps in a queue that stand before a place in the order of (key,
	// ID), up to limit. With the zero ID these are the ones whose key is below.
	Depth(ctx context.Context, queue, key int64, id task.ID, limit int) (int, error)
	// Ahead is Depth of several routes together; there is at least one.
	Ahead(ctx context.Context, routes []int64, key int64, id task.ID, limit int) (int, error)
	// ReadyAfter returns up to limit steps of a route in the order of (key, ID), from
	// behind the place given.
	ReadyAfter(ctx context.Context, route, key int64, id task.ID, limit int) ([]*task.Step, error)
	// First returns the step in a queue with the lowest key at or above from, or nil.
	First(ctx context.Context, queue, from int64) (*task.Step, error)
}

// ReadRegistry is the part of Reader about templates, routes and workers.
type ReadRegistry interface {
	FindTemplateByDef(ctx context.Context, def int64) (*task.Template, error)
	// FindTemplate returns a version; the one registered last when version is "".
	FindTemplate(ctx context.Context, namespace, name, version string) (*task.Template, error)
	// FindAdhoc returns the template that stands in for a handler.
	FindAdhoc(ctx context.Context, namespace, handler string) (*task.Template, error)
	// ListTemplates returns a page by DefID, newest first, ad-hoc ones left out.
	ListTemplates(ctx context.Context, f TemplateFilter) ([]*task.Template, error)
	// CountAdhoc counts the templates of a namespace that stand in for handlers, up to limit.
	CountAdhoc(ctx context.Context, namespace string, limit int) (int, error)
	Routes(ctx context.Context) ([]*task.Route, error)
	// RoutesAfter returns up to limit routes by number, behind one.
	RoutesAfter(ctx context.Context, behind int64, limit int) ([]*task.Route, error)
	// FindRoute returns the route with the namespace, handler and capabilities of another.
	FindRoute(ctx context.Context, like task.Route) (*task.Route, error)
	// CountRoutes counts the routes of a namespace, up to limit.
	CountRoutes(ctx context.Context, namespace string, limit int) (int, error)
	// Workers returns those seen at or after a time, and all that are not dead.
	Workers(ctx context.Context, since task.Instant) ([]*task.Worker, error)
	// ListWorkers returns up to limit of them by No, behind one.
	ListWorkers(ctx context.Context, since task.Instant, behind int64, limit int) ([]*task.Worker, error)
	// CountWorkers counts all workers, dead ones too, up to limit.
	CountWorkers(ctx context.Context, limit int) (int, error)
	// KnowsWorker reports whether a worker of this name and host is stored.
	KnowsWorker(ctx context.Context, name, host string) (bool, error)
	FindWorker(ctx context.Context, id task.ID) (*task.Worker, error)
	FindWorkerByNo(ctx context.Context, no int64) (*task.Worker, error)
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
	// Contexts asks for the contexts of the tasks too, which are left out else.
	Contexts bool
	// Bytes ends a page early once the contexts on it come to so many bytes together.
	// 0: no bound.
	Bytes int
}

// TemplateFilter selects templates. Zero fields do not restrict.
type TemplateFilter struct {
	Namespace string
	Name      string
	Below     int64 // DefID, exclusive; 0 starts at the newest
	Limit     int
}
