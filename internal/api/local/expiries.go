package local

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/api/executionapi"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ExpiredExecutions counts the dispatches that expired in their workers' queues since a time, the latest hour first. A
// deleted worker has no name and no ID.
func (b *Backend) ExpiredExecutions(ctx context.Context, since time.Time) ([]executionapi.Expired, error) {
	list, err := b.engine.Expiries(ctx, task.At(since), b.engine.Now()+1)
	if err != nil {
		return nil, ToError(err)
	}
	workers := map[int64]*task.Worker{}
	out := make([]executionapi.Expired, len(list))
	for i, e := range list {
		w, known := workers[e.Worker]
		if !known {
			if w, err = b.rows.FindWorkerByNo(ctx, e.Worker); err != nil {
				return nil, ToError(err)
			}
			workers[e.Worker] = w
		}
		tpl, err := b.engine.TemplateOf(ctx, e.DefID)
		if err != nil {
			return nil, ToError(err)
		}
		out[i] = executionapi.Expired{Hour: e.Hour.Time(), Namespace: tpl.Namespace, ActionRef: tpl.Name, Count: e.Count,
			Last: e.Last.Time()}
		if w != nil {
			out[i].Worker, out[i].WorkerID = w.Name, uuid.UUID(w.ID)
		}
	}
	return out, nil
}
