package httpapi

import (
	"context"
	"encoding/json"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/strictjson"
)

// submitBody is a tasker.SubmitRequest with its refused tasks.
type submitBody struct {
	tasker.SubmitRequest
	refused refusals
}

// salvager accepts the valid tasks of a request with item_errors.
func (*submitBody) salvager() func([]byte) (any, bool) {
	type head struct {
		Tasks      []json.RawMessage `json:"tasks" minItems:"1"`
		ItemErrors bool              `json:"item_errors,omitempty"`
	}
	whole, item := shapeOf[head](), shapeOf[tasker.TaskRequest]()
	return func(data []byte) (any, bool) {
		var h head
		if err := strictjson.Decode(data, whole, &h); err != nil || !h.ItemErrors || len(h.Tasks) > maxSalvaged {
			return nil, false
		}
		b := &submitBody{SubmitRequest: tasker.SubmitRequest{ItemErrors: true}}
		b.Tasks, b.refused = salvageItems[tasker.TaskRequest](item, h.Tasks, "tasks")
		return b, true
	}
}

func (s *server) submitTask(ctx context.Context, _ *none,
	body *tasker.TaskRequest,
) (answer[tasker.TaskReceipt], error) {
	var no answer[tasker.TaskReceipt]
	if err := reachNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return no, err
	}
	tasks := []tasker.TaskRequest{*body}
	inTrace(ctx, tasks)
	receipts, err := s.backend.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: tasks, Caller: callerOf(ctx)})
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
	return stored(receipt.Created, "/v1/tasks/"+receipt.TaskUUID.String(), receipt), nil
}

func (s *server) submitTasks(ctx context.Context, _ *none,
	body *submitBody,
) (answer[results[tasker.TaskReceipt]], error) {
	var no answer[results[tasker.TaskReceipt]]
	for i := range body.Tasks {
		if body.refused[i] != nil {
			continue
		}
		err := reachNamespace(ctx, body.Tasks[i].Namespace, "/namespace")
		if err != nil && !body.ItemErrors {
			return no, moved(err, "", place("tasks", i))
		}
		if err != nil {
			body.refused.add(i, "tasks", err)
		}
	}
	tasks, places := sift(body.Tasks, body.refused)
	var receipts []tasker.TaskReceipt
	if len(tasks) > 0 {
		inTrace(ctx, tasks)
		var err error
		receipts, err = s.backend.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: tasks, ItemErrors: body.ItemErrors,
			Caller: callerOf(ctx)})
		if err != nil {
			return no, err
		}
	}
	for k, i := range places { // the Backend got the tasks in other places
		if k < len(receipts) {
			receipts[k].Error = movedItem(receipts[k].Error, place("tasks", k), place("tasks", i))
		}
	}
	all := merge(len(body.Tasks), places, receipts, body.refused, func(_ int, e *tasker.Error) tasker.TaskReceipt {
		return tasker.TaskReceipt{Error: e}
	})
	return ok(results[tasker.TaskReceipt]{all}), nil
}
