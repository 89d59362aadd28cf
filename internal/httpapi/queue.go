package httpapi

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/queueapi"
	"github.com/taskerhq/tasker/internal/web"
)

// QueuePath names a task of the queue. It is exported for the same reason as TaskPath.
type QueuePath struct {
	ID uuid.UUID `path:"id" doc:"The task."`
}

// queueTaskQuery is QueuePath with a request for more fields.
type queueTaskQuery struct {
	QueuePath
	IncludeHistory bool `query:"include_history" doc:"Include earlier statuses, oldest first."`
}

// queueCancelQuery is QueuePath with the parameters of a cancellation.
type queueCancelQuery struct {
	QueuePath
	CancelParams
}

// queueStatsQuery is a queueapi.QueueFilter as a query.
type queueStatsQuery struct {
	Namespace []string `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
}

func (s *server) enqueueTask(ctx context.Context, _ *none,
	body *queueapi.EnqueueTask,
) (answer[queueapi.QueueReceipt], error) {
	var no answer[queueapi.QueueReceipt]
	receipts, err := s.enqueue(ctx, []queueapi.EnqueueTask{*body})
	if err != nil {
		return no, moved(err, "/tasks/0", "")
	}
	receipt, err := first(receipts)
	if err != nil {
		return no, err
	}
	if receipt.Error != nil {
		return no, moved(receipt.Error, "/tasks/0", "")
	}
	return stored(receipt.Created, "/api/v1/tasks/"+receipt.TaskID.String(), receipt), nil
}

func (s *server) enqueueTasks(ctx context.Context, _ *none,
	body *queueapi.EnqueueRequest,
) (answer[results[queueapi.QueueReceipt]], error) {
	receipts, err := s.enqueue(ctx, body.Tasks)
	return ok(results[queueapi.QueueReceipt]{list(receipts)}), err
}

// enqueue stores tasks with the name of the request's key.
func (s *server) enqueue(ctx context.Context, tasks []queueapi.EnqueueTask) ([]queueapi.QueueReceipt, error) {
	trace := web.TraceParent(ctx)
	for i := range tasks {
		if err := reachNamespace(ctx, tasks[i].Namespace, "/namespace"); err != nil {
			return nil, moved(err, "", place("tasks", i))
		}
		if tasks[i].TraceParent == "" && tasks[i].TraceID == "" {
			tasks[i].TraceParent = trace
		}
	}
	return s.backend.EnqueueTasks(ctx, queueapi.EnqueueRequest{Tasks: tasks, Caller: callerOf(ctx)})
}

// callerOf returns the name of the request's key, "" without one.
func callerOf(ctx context.Context) string {
	if p := access.From(ctx); p != nil {
		return p.Name
	}
	return ""
}

func (s *server) queueTask(ctx context.Context, params *queueTaskQuery, _ *none) (answer[*queueapi.QueueTask], error) {
	task, err := s.backend.QueueTask(ctx, params.ID, params.IncludeHistory)
	return ok(task), err
}

func (s *server) cancelQueueTask(ctx context.Context, params *queueCancelQuery,
	_ *none,
) (answer[*queueapi.QueueCancelled], error) {
	match, err := params.with(params.GivenMatch)
	if err != nil {
		return answer[*queueapi.QueueCancelled]{}, err
	}
	req := queueapi.QueueCancel{CancelledBy: cmp.Or(params.CancelledBy, callerOf(ctx)), Reason: params.Reason,
		ExpectedState: tasker.TaskState(params.ExpectedState), IfMatch: match}
	cancelled, err := s.backend.CancelQueueTask(ctx, params.ID, req)
	return ok(cancelled), err
}

func (s *server) queueStats(ctx context.Context, params *queueStatsQuery,
	_ *none,
) (answer[*queueapi.QueueStats], error) {
	var no answer[*queueapi.QueueStats]
	namespaces := splitAll(params.Namespace)
	if len(namespaces) > maxListed {
		return no, tasker.Errorf(tasker.CodeTooLarge, "a parameter may repeat at most %d times", maxListed)
	}
	p := access.From(ctx)
	for _, namespace := range namespaces {
		if !p.Limited() || p.Reaches(namespace) {
			continue
		}
		return no,
			outside(p, tasker.Detail{Location: "query.namespace",
				Message: fmt.Sprintf("the key does not reach the namespace %q", namespace)})
	}
	if len(namespaces) == 0 && p.Limited() {
		namespaces = p.Namespaces()
	}
	stats, err := s.backend.QueueStats(ctx, queueapi.QueueFilter{Namespaces: namespaces})
	return ok(stats), err
}
