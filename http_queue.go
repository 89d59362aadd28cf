package tasker

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"
)

const queueTasks = "/api/v1/tasks"

// EnqueueTasks implements QueueBackend.
func (b *httpBackend) EnqueueTasks(ctx context.Context, req EnqueueRequest) ([]QueueReceipt, error) {
	c := call{verb: "enqueue tasks", method: http.MethodPost, path: queueTasks}
	if len(req.Tasks) == 1 {
		c.body = req.Tasks[0]
		receipt, err := fetch[QueueReceipt](ctx, b, c)
		if err != nil {
			return nil, err
		}
		return []QueueReceipt{*receipt}, nil
	}
	var out struct {
		Results []QueueReceipt `json:"results"`
	}
	c.path, c.body = queueTasks+"/batch", req
	if err := b.do(ctx, c, &out); err != nil {
		return nil, err
	}
	return out.Results, sameLength(c.verb, len(req.Tasks), len(out.Results))
}

// QueueTask implements QueueBackend.
func (b *httpBackend) QueueTask(ctx context.Context, id uuid.UUID, history bool) (*QueueTask, error) {
	c := call{verb: "get task", method: http.MethodGet, path: queueTasks + "/" + id.String()}
	if history {
		c.query = url.Values{"include_history": {"true"}}
	}
	return fetch[QueueTask](ctx, b, c)
}

// QueueTasks implements QueueBackend.
func (b *httpBackend) QueueTasks(ctx context.Context, f QueueTaskFilter) (*QueueTaskPage, error) {
	q := make(query)
	for _, s := range f.Statuses {
		url.Values(q).Add("status", string(s))
	}
	q.set("namespace", f.Namespace)
	q.set("task_type", f.TaskType)
	q.set("priority", string(f.Priority))
	q.set("user_id", f.UserID)
	q.setTime("created_after", f.CreatedAfter)
	q.setTime("created_before", f.CreatedBefore)
	q.setInt("limit", f.Limit)
	q.set("cursor", f.Cursor)
	return fetch[QueueTaskPage](ctx, b, call{verb: "list tasks", method: http.MethodGet, path: queueTasks, query: url.Values(q)})
}

// CancelQueueTask implements QueueBackend.
func (b *httpBackend) CancelQueueTask(ctx context.Context, id uuid.UUID, req QueueCancel) (*QueueCancelled, error) {
	q := make(query)
	q.set("cancelled_by", req.CancelledBy)
	q.set("reason", req.Reason)
	q.set("expected_state", string(req.ExpectedState))
	q.set("if_match", req.IfMatch)
	return fetch[QueueCancelled](ctx, b, call{verb: "cancel task", method: http.MethodDelete, path: queueTasks + "/" + id.String(), query: url.Values(q)})
}

// QueueStats implements QueueBackend.
func (b *httpBackend) QueueStats(ctx context.Context, f QueueFilter) (*QueueStats, error) {
	return fetch[QueueStats](ctx, b, call{verb: "get queue stats", method: http.MethodGet, path: "/api/v1/queue/stats",
		query: url.Values{"namespace": f.Namespaces}})
}
