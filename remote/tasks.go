package remote

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/wire"
	"github.com/taskerhq/tasker/internal/kit/pointer"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// Limits of the requests that gather concurrent callers; wire has those of one request.
const (
	gatherLanes = 2  // requests in flight
	gatherWiden = 64 // waiting items that justify a second request in flight
)

// taskWeight estimates the bytes of a task in a request: its context, and an allowance for all other fields.
func taskWeight(t *tasker.TaskRequest) int { return len(t.Context) + 256 }

// SubmitTasks gathers a single task with those of other callers, and sends several tasks as one request.
func (b *httpBackend) SubmitTasks(ctx context.Context, req tasker.SubmitRequest) ([]tasker.TaskReceipt, error) {
	if len(req.Tasks) != 1 {
		return b.submit(ctx, req)
	}
	receipt, err := b.submits.do(ctx, req.Tasks[0])
	if err != nil {
		return nil, err
	}
	if receipt.Error != nil && !req.ItemErrors {
		// A gathered task has its own receipt. This caller asked to refuse the whole request, which is this task.
		return nil, receipt.Error
	}
	return []tasker.TaskReceipt{receipt}, nil
}

// submit converts the pauses that the server advises for items, which travel in the body because an item has no
// header.
func (b *httpBackend) submit(ctx context.Context, req tasker.SubmitRequest) ([]tasker.TaskReceipt, error) {
	var out struct {
		Results []tasker.TaskReceipt `json:"results"`
	}
	out.Results = make([]tasker.TaskReceipt, 0, len(req.Tasks))
	c := call{verb: "submit tasks", method: http.MethodPost, path: "/v1/tasks/batch", body: req}
	if err := b.do(ctx, c, &out); err != nil {
		return nil, err
	}
	if err := wire.SameLength(c.verb, len(req.Tasks), len(out.Results)); err != nil {
		return nil, err
	}
	for _, r := range out.Results {
		if r.Error != nil {
			r.Error.RetryAfter = time.Duration(r.Error.RetryAfterSeconds * float64(time.Second))
		}
	}
	return out.Results, nil
}

func (b *httpBackend) submitBatch(ctx context.Context, tasks []tasker.TaskRequest) ([]tasker.TaskReceipt, error) {
	receipts, err := b.submit(ctx, tasker.SubmitRequest{Tasks: tasks, ItemErrors: true})
	for i := range receipts {
		relocate(receipts[i].Error, i)
	}
	return receipts, err
}

// relocate rewrites the pointers in the error of the i-th gathered task to those of its caller's request, which has
// one task.
func relocate(e *tasker.Error, i int) {
	if e == nil || i == 0 {
		return
	}
	for d := range e.Details {
		e.Details[d].Location = pointer.Move(e.Details[d].Location, "/tasks/"+strconv.Itoa(i), "/tasks/0")
	}
}

func (b *httpBackend) Task(ctx context.Context, id uuid.UUID, wait time.Duration) (*tasker.Task, error) {
	c := call{verb: "get task", method: http.MethodGet, path: "/v1/tasks/" + id.String()}
	if wait > 0 {
		c.wait = wait
		c.query = url.Values{"wait_ms": {strconv.FormatInt(max(wait.Milliseconds(), 1), 10)}}
	}
	return fetch[tasker.Task](ctx, b, c)
}

func (b *httpBackend) Tasks(ctx context.Context, f tasker.TaskFilter) (*tasker.TaskPage, error) {
	q := query.Of(f)
	if f.WithContext {
		q.Set("include", "context")
	}
	return fetch[tasker.TaskPage](ctx, b, call{verb: "list tasks", method: http.MethodGet, path: "/v1/tasks",
		query: url.Values(q)})
}

func (b *httpBackend) TaskHistory(ctx context.Context, id uuid.UUID) (*tasker.TaskHistory, error) {
	return fetch[tasker.TaskHistory](ctx, b, call{verb: "get task history", method: http.MethodGet,
		path: "/v1/tasks/" + id.String() + "/history"})
}

func (b *httpBackend) ExplainTask(ctx context.Context, id uuid.UUID) (*tasker.Explanation, error) {
	return fetch[tasker.Explanation](ctx, b, call{verb: "explain task", method: http.MethodGet,
		path: "/v1/tasks/" + id.String() + "/explain"})
}

// EditContext is safe to repeat with ExpectedVersion: the second edit is refused.
func (b *httpBackend) EditContext(ctx context.Context, id uuid.UUID, req tasker.EditContextRequest,
) (*tasker.EditedContext, error) {
	return fetch[tasker.EditedContext](ctx, b, call{verb: "edit context", method: http.MethodPatch,
		path: "/v1/tasks/" + id.String() + "/context", body: req})
}

// CancelTasks is safe to repeat: the second receipt carries CodeWrongState.
func (b *httpBackend) CancelTasks(ctx context.Context, req tasker.CancelRequest) ([]tasker.TaskReceipt, error) {
	var out struct {
		Results []tasker.TaskReceipt `json:"results"`
	}
	c := call{verb: "cancel tasks", method: http.MethodPost, path: "/v1/tasks/cancel", body: req}
	if err := b.do(ctx, c, &out); err != nil {
		return nil, err
	}
	if err := wire.SameLength(c.verb, len(req.TaskUUIDs), len(out.Results)); err != nil {
		return nil, err
	}
	return out.Results, nil
}

func fetch[T any](ctx context.Context, b *httpBackend, c call) (*T, error) {
	out := new(T)
	if err := b.do(ctx, c, out); err != nil {
		return nil, err
	}
	return out, nil
}
