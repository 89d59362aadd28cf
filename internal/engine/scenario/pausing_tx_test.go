package scenario_test

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Calls of a transaction, each after a pause. Ready is in pausing_test.go.

func (x *pausingTx) Between(ctx context.Context, route int64, after engine.Position, upTo int64,
	limit int,
) ([]*task.Step, error) {
	x.pause("Between")
	return x.Tx.Between(ctx, route, after, upTo, limit)
}

func (x *pausingTx) Due(ctx context.Context, queue int64, until task.Instant, limit int) ([]engine.Work, error) {
	x.pause("Due")
	return x.Tx.Due(ctx, queue, until, limit)
}

func (x *pausingTx) Held(ctx context.Context, worker int64, limit int) ([]engine.Work, error) {
	x.pause("Held")
	return x.Tx.Held(ctx, worker, limit)
}

func (x *pausingTx) Work(ctx context.Context, steps []task.ID) ([]engine.Work, error) {
	x.pause("Work")
	return x.Tx.Work(ctx, steps)
}

func (x *pausingTx) SaveSteps(ctx context.Context, steps []*task.Step) error {
	x.pause("SaveSteps")
	return x.Tx.SaveSteps(ctx, steps)
}

func (x *pausingTx) InsertTasks(ctx context.Context, tasks []*task.Task, steps []*task.Step) error {
	x.pause("InsertTasks")
	return x.Tx.InsertTasks(ctx, tasks, steps)
}

func (x *pausingTx) Contexts(ctx context.Context, ids []task.ID) ([][]byte, error) {
	x.pause("Contexts")
	return x.Tx.Contexts(ctx, ids)
}

func (x *pausingTx) Task(ctx context.Context, id task.ID) (*task.Task, error) {
	x.pause("Task")
	return x.Tx.Task(ctx, id)
}

func (x *pausingTx) Tasks(ctx context.Context, ids []task.ID) ([]*task.Task, error) {
	x.pause("Tasks")
	return x.Tx.Tasks(ctx, ids)
}

func (x *pausingTx) Steps(ctx context.Context, of []engine.Family) ([][]*task.Step, error) {
	x.pause("Steps")
	return x.Tx.Steps(ctx, of)
}

func (x *pausingTx) SaveTasks(ctx context.Context, tasks []*task.Task) error {
	x.pause("SaveTasks")
	return x.Tx.SaveTasks(ctx, tasks)
}

func (x *pausingTx) SaveContext(ctx context.Context, t *task.Task) error {
	x.pause("SaveContext")
	return x.Tx.SaveContext(ctx, t)
}

func (x *pausingTx) Overdue(ctx context.Context, until task.Instant, limit int) ([]*task.Task, error) {
	x.pause("Overdue")
	return x.Tx.Overdue(ctx, until, limit)
}

func (x *pausingTx) DeleteFinished(ctx context.Context, before, window task.Instant, limit int) (int, error) {
	x.pause("DeleteFinished")
	return x.Tx.DeleteFinished(ctx, before, window, limit)
}

func (x *pausingTx) AddAttempts(ctx context.Context, attempts []task.Attempt) error {
	x.pause("AddAttempts")
	return x.Tx.AddAttempts(ctx, attempts)
}

func (x *pausingTx) AddEvents(ctx context.Context, events []task.Event) error {
	x.pause("AddEvents")
	return x.Tx.AddEvents(ctx, events)
}

func (x *pausingTx) InsertTemplate(ctx context.Context, t *task.Template) (*task.Template, error) {
	x.pause("InsertTemplate")
	return x.Tx.InsertTemplate(ctx, t)
}

func (x *pausingTx) Template(ctx context.Context, def int64) (*task.Template, error) {
	x.pause("Template")
	return x.Tx.Template(ctx, def)
}

func (x *pausingTx) ExpectKnown(ctx context.Context, templates map[int64]*task.Template,
	routes map[int64]*task.Route,
) error {
	x.pause("ExpectKnown")
	return x.Tx.ExpectKnown(ctx, templates, routes)
}

func (x *pausingTx) InsertRoute(ctx context.Context, r *task.Route) error {
	x.pause("InsertRoute")
	return x.Tx.InsertRoute(ctx, r)
}

func (x *pausingTx) SaveWorker(ctx context.Context, w *task.Worker) error {
	x.pause("SaveWorker")
	return x.Tx.SaveWorker(ctx, w)
}

func (x *pausingTx) Workers(ctx context.Context, nos []int64) ([]*task.Worker, error) {
	x.pause("Workers")
	return x.Tx.Workers(ctx, nos)
}

func (x *pausingTx) ForgetWorkers(ctx context.Context, before task.Instant, limit int) (int, error) {
	x.pause("ForgetWorkers")
	return x.Tx.ForgetWorkers(ctx, before, limit)
}
