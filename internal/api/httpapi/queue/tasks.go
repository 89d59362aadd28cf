package queue

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/api/web"
)

// Path names a task of the queue. Exported because huma ignores unexported embedded structs.
type Path struct {
	ID uuid.UUID `path:"id" doc:"The task."`
}

type queueTaskQuery struct {
	Path
	IncludeHistory bool `query:"include_history" doc:"Include earlier statuses, oldest first."`
}

type queueCancelQuery struct {
	Path
	endpoint.CancelParams
}

// enqueueTask answers 201 for a new task, 200 for one with the same idempotency key. It is a batch of one, so locations
// in errors are moved from the item to the body.
func (f *family) enqueueTask(ctx context.Context, _ *endpoint.None, body *queueapi.EnqueueTask,
) (endpoint.Answer[queueapi.QueueReceipt], error) {
	var no endpoint.Answer[queueapi.QueueReceipt]
	receipts, err := f.enqueue(ctx, []queueapi.EnqueueTask{*body})
	if err != nil {
		return no, endpoint.Moved(err, "/tasks/0", "")
	}
	receipt, err := endpoint.First(receipts)
	if err != nil {
		return no, err
	}
	if receipt.Error != nil {
		return no, endpoint.Moved(receipt.Error, "/tasks/0", "")
	}
	return endpoint.Stored(receipt.Created, "/api/v1/tasks/"+receipt.TaskID.String(), receipt), nil
}

func (f *family) enqueueTasks(ctx context.Context, _ *endpoint.None, body *queueapi.EnqueueRequest,
) (endpoint.Results[queueapi.QueueReceipt], error) {
	receipts, err := f.enqueue(ctx, body.Tasks)
	return endpoint.ResultsOf(receipts), err
}

// enqueue adds the name of the request's key, for limits per user and the audit trail. A task without a trace continues
// the request's.
func (f *family) enqueue(ctx context.Context, tasks []queueapi.EnqueueTask) ([]queueapi.QueueReceipt, error) {
	trace := web.TraceParent(ctx)
	for i := range tasks {
		if err := endpoint.ReachNamespace(ctx, tasks[i].Namespace, "/namespace"); err != nil {
			return nil, endpoint.Moved(err, "", endpoint.ItemPath("tasks", i))
		}
		if tasks[i].TraceParent == "" && tasks[i].TraceID == "" {
			tasks[i].TraceParent = trace
		}
	}
	return f.backend.EnqueueTasks(ctx, queueapi.EnqueueRequest{Tasks: tasks, Caller: endpoint.Caller(ctx)})
}

func (f *family) queueTask(ctx context.Context, params *queueTaskQuery, _ *endpoint.None,
) (*queueapi.QueueTask, error) {
	return f.backend.QueueTask(ctx, params.ID, params.IncludeHistory)
}

// cancelQueueTask has actor and precondition in the query, like DELETE /v1/tasks.
func (f *family) cancelQueueTask(ctx context.Context, params *queueCancelQuery, _ *endpoint.None,
) (*queueapi.QueueCancelled, error) {
	req := queueapi.QueueCancel{CancelledBy: cmp.Or(params.CancelledBy, endpoint.Caller(ctx)), Reason: params.Reason,
		ExpectedState: tasker.TaskState(params.ExpectedState), IfMatch: params.IfMatch}
	return f.backend.CancelQueueTask(ctx, params.ID, req)
}

func (f *family) queueStats(ctx context.Context, filter *queueapi.QueueFilter, _ *endpoint.None,
) (*queueapi.QueueStats, error) {
	return endpoint.NarrowedAll(ctx, &filter.Namespaces, f.backend.QueueStats, filter)
}

type queueTasksQuery struct {
	Status        []string  `query:"status,explode" doc:"queued, assigned, executing, completed, failed, cancelled or dead_letter; repeatable, or several separated by commas."`
	Namespace     string    `query:"namespace" maxLength:"255"`
	TaskType      string    `query:"task_type" maxLength:"255" doc:"Task type or template name."`
	Priority      string    `query:"priority" maxLength:"64" doc:"Name or number of a level."`
	UserID        string    `query:"user_id" maxLength:"255" doc:"Initiator of the task."`
	CreatedAfter  time.Time `query:"created_after" doc:"Inclusive."`
	CreatedBefore time.Time `query:"created_before" doc:"Exclusive."`
	endpoint.PageQuery
}

// queueTasks leaves unknown statuses to the backend, which has their mapping.
func (f *family) queueTasks(ctx context.Context, params *queueTasksQuery, _ *endpoint.None,
) (*queueapi.QueueTaskPage, error) {
	filter := queueapi.QueueTaskFilter{TaskType: params.TaskType, Priority: tasker.Priority(params.Priority),
		UserID: params.UserID, CreatedAfter: endpoint.Given(params.CreatedAfter),
		CreatedBefore: endpoint.Given(params.CreatedBefore), Limit: params.Limit, Cursor: params.Cursor}
	var err error
	if filter.Statuses, err = endpoint.Words[queueapi.QueueStatus](params.Status); err != nil {
		return nil, err
	}
	if filter.Namespace, err = endpoint.NarrowNamespace(ctx, params.Namespace); err != nil {
		return nil, err
	}
	page, err := f.backend.QueueTasks(ctx, filter)
	if err != nil {
		return nil, err
	}
	page.Tasks = endpoint.List(page.Tasks)
	return page, nil
}

func (f *family) listRoutes(ctx context.Context, filter *queueapi.RouteFilter, _ *endpoint.None,
) (*queueapi.RoutePage, error) {
	page, err := endpoint.NarrowedAll(ctx, &filter.Namespaces, f.backend.Routes, filter)
	if err == nil {
		page.Routes = endpoint.List(page.Routes)
	}
	return page, err
}
