package httpapi

import (
	"context"
	"encoding/json"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/strictjson"
)

type submitBody struct {
	tasker.SubmitRequest
	refused endpoint.Refusals
}

// Salvager accepts the valid tasks of a request with item_errors. It runs only after strict decoding has failed, so the
// usual request does not pay for it. It fails if the request itself is at fault, or has no item_errors.
func (*submitBody) Salvager() func([]byte) (any, bool) {
	type head struct {
		Tasks      []json.RawMessage `json:"tasks" minItems:"1"`
		ItemErrors bool              `json:"item_errors,omitempty"`
	}
	whole, item := endpoint.ShapeOf[head](), endpoint.ShapeOf[tasker.TaskRequest]()
	return func(data []byte) (any, bool) {
		var h head
		if err := strictjson.Decode(data, whole, &h); err != nil || !h.ItemErrors || len(h.Tasks) > endpoint.MaxSalvaged {
			return nil, false
		}
		b := &submitBody{SubmitRequest: tasker.SubmitRequest{ItemErrors: true}}
		b.Tasks, b.refused = endpoint.SalvageItems[tasker.TaskRequest](item, h.Tasks, "tasks")
		return b, true
	}
}

// submitTask answers 201 for a new task, 200 for one with the same idempotency key. It is a batch of one, so locations
// in errors are moved from the item to the body.
func (s *server) submitTask(ctx context.Context, _ *endpoint.None, body *tasker.TaskRequest,
) (endpoint.Answer[tasker.TaskReceipt], error) {
	var no endpoint.Answer[tasker.TaskReceipt]
	if err := endpoint.ReachNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return no, err
	}
	tasks := []tasker.TaskRequest{*body}
	inTrace(ctx, tasks)
	receipts, err := s.backend.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: tasks, Caller: endpoint.Caller(ctx)})
	if err != nil {
		return no, endpoint.Moved(err, "/tasks/0", "")
	}
	receipt, err := endpoint.First(receipts)
	if err != nil {
		return no, err
	}
	// A backend may return a receipt with an error even for a single task.
	if receipt.Error != nil {
		return no, endpoint.Moved(receipt.Error, "/tasks/0", "")
	}
	return endpoint.Stored(receipt.Created, "/v1/tasks/"+receipt.TaskUUID.String(), receipt), nil
}

// submitTasks: without item_errors one refused task refuses all, before anything is stored. With it, tasks refused here
// never reach the backend, and the answers are merged in the order of the request.
func (s *server) submitTasks(ctx context.Context, _ *endpoint.None, body *submitBody,
) (endpoint.Results[tasker.TaskReceipt], error) {
	var no endpoint.Results[tasker.TaskReceipt]
	// A request names its namespaces, so they are checked without the backend.
	for i := range body.Tasks {
		if body.refused[i] != nil {
			continue
		}
		err := endpoint.ReachNamespace(ctx, body.Tasks[i].Namespace, "/namespace")
		if err != nil && !body.ItemErrors {
			return no, endpoint.Moved(err, "", endpoint.ItemPath("tasks", i))
		}
		if err != nil {
			body.refused.Add(i, "tasks", err)
		}
	}
	tasks, places := endpoint.Sift(body.Tasks, body.refused)
	var receipts []tasker.TaskReceipt
	if len(tasks) > 0 {
		inTrace(ctx, tasks)
		var err error
		receipts, err = s.backend.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: tasks, ItemErrors: body.ItemErrors,
			Caller: endpoint.Caller(ctx)})
		if err != nil {
			return no, err
		}
	}
	for k, i := range places { // the Backend got the tasks in other places
		if k < len(receipts) {
			receipts[k].Error = endpoint.MovedItem(receipts[k].Error, endpoint.ItemPath("tasks", k),
				endpoint.ItemPath("tasks", i))
		}
	}
	all := endpoint.Merge(len(body.Tasks), places, receipts, body.refused,
		func(_ int, e *tasker.Error) tasker.TaskReceipt {
			return tasker.TaskReceipt{Error: e}
		})
	return endpoint.ResultsOf(all), nil
}
