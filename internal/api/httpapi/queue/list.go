package queue

import (
	"context"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/queueapi"
)

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
