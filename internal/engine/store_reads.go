package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Reader answers queries from a committed state. A result that does not exist is nil, or empty; an error is always the
// store's.
type Reader interface {
	ReadTasks
	ReadTemplates
	ReadRoutes

	// Steps of tasks, their attempts and events.

	// FindSteps returns all steps of a task by ordinal.
	FindSteps(ctx context.Context, id task.ID) ([]*task.Step, error)
	// BareSteps returns all steps of tasks without their results, in any order.
	BareSteps(ctx context.Context, of []Sized) ([]*task.Step, error)
	// Results returns the results of steps of one task, in the order of the IDs, up to a number of bytes in total; the
	// following ones are left out.
	Results(ctx context.Context, steps []task.ID, bytes int) (map[task.ID][]byte, error)
	// InQueues returns the queued steps of tasks, in any order: ready, leased, or waiting for a time.
	InQueues(ctx context.Context, of []Sized) ([]*task.Step, error)
	// FindAttempts and FindEvents are oldest first.
	FindAttempts(ctx context.Context, id task.ID) ([]task.Attempt, error)
	FindEvents(ctx context.Context, id task.ID) ([]task.Event, error)

	// Workers.

	// Workers returns those seen at or after a time, and all that are not dead.
	Workers(ctx context.Context, since task.Instant) ([]*task.Worker, error)
	// ListWorkers returns up to limit of them by No, after one.
	ListWorkers(ctx context.Context, since task.Instant, behind int64, limit int) ([]*task.Worker, error)
	// CountWorkers counts all workers, including dead ones, up to limit.
	CountWorkers(ctx context.Context, limit int) (int, error)
	// KnowsWorker reports whether a worker of this name and host is stored.
	KnowsWorker(ctx context.Context, name, host string) (bool, error)
	FindWorker(ctx context.Context, id task.ID) (*task.Worker, error)
	FindWorkerByNo(ctx context.Context, no int64) (*task.Worker, error)
}

// ReadTasks is the part of Reader about tasks.
type ReadTasks interface {
	FindTask(ctx context.Context, id task.ID) (*task.Task, error)
	// FindTasks returns tasks without their contexts, in the order of the IDs; those that do not exist are left out.
	FindTasks(ctx context.Context, ids []task.ID) ([]*task.Task, error)
	// TaskStatuses returns the statuses of tasks, in any order; tasks that do not exist are left out.
	TaskStatuses(ctx context.Context, ids []task.ID) ([]feed.TaskStatus, error)
	// ListTasks returns a page, newest first, and the ID to continue below: zero
	// at the end. It examines a bounded number of rows, so a page may be short.
	ListTasks(ctx context.Context, f TaskFilter) ([]*task.Task, task.ID, error)

	// What is to be looked at.

	// Deadlines returns up to limit tasks that are not settled and whose deadline is at most until, without their
	// contexts, the earliest deadline first.
	Deadlines(ctx context.Context, until task.Instant, limit int) ([]*task.Task, error)
	// OverdueTasks returns up to limit tasks whose deadline is at most until, the earliest deadline first.
	OverdueTasks(ctx context.Context, until task.Instant, limit int) ([]task.ID, error)
	// Survey reads up to limit tasks between two IDs, both exclusive, in their order. It returns those that are not
	// settled, without their contexts, and the ID at which it stopped: zero when it has read all of them.
	Survey(ctx context.Context, after, before task.ID, limit int) ([]*task.Task, task.ID, error)
}

// ReadTemplates is the part of Reader about templates.
type ReadTemplates interface {
	FindTemplateByDef(ctx context.Context, def int64) (*task.Template, error)
	// FindTemplate returns a version; the one registered last when version is "".
	FindTemplate(ctx context.Context, namespace, name, version string) (*task.Template, error)
	// FindAdhoc returns the template that stands in for a handler.
	FindAdhoc(ctx context.Context, namespace, handler string) (*task.Template, error)
	// ListTemplates returns a page by DefID, newest first, without ad-hoc ones.
	ListTemplates(ctx context.Context, f TemplateFilter) ([]*task.Template, error)
	// CountAdhoc counts the templates of a namespace that stand in for handlers, up to limit.
	CountAdhoc(ctx context.Context, namespace string, limit int) (int, error)
}

// ReadRoutes is the part of Reader about routes.
type ReadRoutes interface {
	Routes(ctx context.Context) ([]*task.Route, error)
	// RoutesAfter returns up to limit routes by number, after one.
	RoutesAfter(ctx context.Context, behind int64, limit int) ([]*task.Route, error)
	// FindRoute returns the route with the namespace, handler and capabilities of another.
	FindRoute(ctx context.Context, like task.Route) (*task.Route, error)
	// CountRoutes counts the routes of a namespace, up to limit.
	CountRoutes(ctx context.Context, namespace string, limit int) (int, error)
}
