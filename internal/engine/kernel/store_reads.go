package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Reader answers queries from a committed state. Missing rows give nil or nothing; an error is always the store's.
type Reader interface {
	ReadTasks
	ReadTemplates
	ReadRoutes

	// Steps, attempts and events of tasks.

	FindSteps(ctx context.Context, id task.ID) ([]*task.Step, error)
	// BareSteps returns steps without results, in any order.
	BareSteps(ctx context.Context, of []Sized) ([]*task.Step, error)
	// Results returns the results of steps of one task in the order of the IDs, up to a number of bytes.
	Results(ctx context.Context, steps []task.ID, bytes int) (map[task.ID][]byte, error)
	// InQueues returns the queued steps of tasks, in any order: ready, leased, or waiting for a time.
	InQueues(ctx context.Context, of []Sized) ([]*task.Step, error)
	// FindAttempts and FindEvents are oldest first.
	FindAttempts(ctx context.Context, id task.ID) ([]task.Attempt, error)
	FindEvents(ctx context.Context, id task.ID) ([]task.Event, error)

	// Workers.

	// Workers returns those seen since a time, and all that are not dead.
	Workers(ctx context.Context, since task.Instant) ([]*task.Worker, error)
	ListWorkers(ctx context.Context, since task.Instant, behind int64, limit int) ([]*task.Worker, error)
	CountWorkers(ctx context.Context, limit int) (int, error)
	KnowsWorker(ctx context.Context, name, host string) (bool, error)
	FindWorker(ctx context.Context, id task.ID) (*task.Worker, error)
	FindWorkerByNo(ctx context.Context, no int64) (*task.Worker, error)
}

// ReadTasks reads tasks.
type ReadTasks interface {
	FindTask(ctx context.Context, id task.ID) (*task.Task, error)
	// FindTasks returns existing tasks without contexts, in the order of the IDs.
	FindTasks(ctx context.Context, ids []task.ID) ([]*task.Task, error)
	// TaskStatuses returns the statuses of existing tasks, in any order.
	TaskStatuses(ctx context.Context, ids []task.ID) ([]feed.TaskStatus, error)
	// ListTasks returns a page, newest first, and the ID to continue below: zero at the end. It examines a bounded
	// number of rows, so a page may be short.
	ListTasks(ctx context.Context, f TaskFilter) ([]*task.Task, task.ID, error)

	// Due tasks.

	// Deadlines returns up to limit unsettled tasks with a deadline of at most until, without contexts, earliest
	// first.
	Deadlines(ctx context.Context, until task.Instant, limit int) ([]*task.Task, error)
	// OverdueTasks returns up to limit tasks with a deadline of at most until, earliest first.
	OverdueTasks(ctx context.Context, until task.Instant, limit int) ([]task.ID, error)
	// Survey reads up to limit tasks between two IDs, both exclusive. It returns the unsettled ones without contexts,
	// and the ID at which it stopped: zero at the end.
	Survey(ctx context.Context, after, before task.ID, limit int) ([]*task.Task, task.ID, error)
}

// ReadTemplates reads templates.
type ReadTemplates interface {
	FindTemplateByDef(ctx context.Context, def int64) (*task.Template, error)
	// FindTemplate returns a version; the latest registered for "".
	FindTemplate(ctx context.Context, namespace, name, version string) (*task.Template, error)
	// FindAdhoc returns a handler's stand-in template.
	FindAdhoc(ctx context.Context, namespace, handler string) (*task.Template, error)
	// ListTemplates returns a page by DefID, newest first, without stand-ins.
	ListTemplates(ctx context.Context, f TemplateFilter) ([]*task.Template, error)
	CountAdhoc(ctx context.Context, namespace string, limit int) (int, error)
}

// ReadRoutes reads routes.
type ReadRoutes interface {
	Routes(ctx context.Context) ([]*task.Route, error)
	RoutesAfter(ctx context.Context, behind int64, limit int) ([]*task.Route, error)
	// FindRoute matches namespace, handler and capabilities.
	FindRoute(ctx context.Context, like task.Route) (*task.Route, error)
	CountRoutes(ctx context.Context, namespace string, limit int) (int, error)
}
