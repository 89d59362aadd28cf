package httpapi

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/access"
)

// taskPath names a task.
type taskPath struct {
	UUID uuid.UUID `path:"uuid" doc:"The task."`
}

// taskQuery is taskPath with a wish to wait.
type taskQuery struct {
	taskPath
	WaitMS int `query:"wait_ms" minimum:"0" doc:"Wait this long for the task to be settled, at most 60000."`
}

// cancelQuery is taskPath with who cancels, and why.
type cancelQuery struct {
	taskPath
	CancelledBy string `query:"cancelled_by" maxLength:"255" doc:"Who cancels. Defaults to the key's name."`
	Reason      string `query:"reason" maxLength:"1024" doc:"Why."`
}

func (s *server) submitTask(ctx context.Context, _ *none, body *tasker.TaskRequest) (answer[tasker.TaskReceipt], error) {
	var no answer[tasker.TaskReceipt]
	if err := reachNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return no, err
	}
	receipts, err := s.backend.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: []tasker.TaskRequest{*body}})
	if err == nil {
		var receipt tasker.TaskReceipt
		if receipt, err = first(receipts); err == nil {
			err = orNil(receipt.Error)
		}
		if err == nil {
			return stored(receipt.Created, "/v1/tasks/"+receipt.TaskUUID.String(), receipt), nil
		}
	}
	return no, aboutOne(err, "/tasks/0")
}

func (s *server) submitTasks(ctx context.Context, _ *none, body *tasker.SubmitRequest) (answer[results[tasker.TaskReceipt]], error) {
	var no answer[results[tasker.TaskReceipt]]
	if err := reachAll(ctx, body.Tasks); err != nil {
		return no, err
	}
	receipts, err := s.backend.SubmitTasks(ctx, *body)
	if err != nil {
		return no, err
	}
	return ok(results[tasker.TaskReceipt]{list(receipts)}), nil
}

func (s *server) listTasks(ctx context.Context, params *taskFilter, _ *none) (answer[tasker.TaskPage], error) {
	var no answer[tasker.TaskPage]
	filter, err := params.filter()
	if err != nil {
		return no, err
	}
	if filter.Namespace, err = narrow(ctx, filter.Namespace); err != nil {
		return no, err
	}
	page, err := s.backend.Tasks(ctx, filter)
	if err != nil {
		return no, err
	}
	return ok(tasker.TaskPage{Tasks: list(page.Tasks), NextCursor: page.NextCursor}), nil
}

func (s *server) getTask(ctx context.Context, params *taskQuery, _ *none) (answer[*tasker.Task], error) {
	if err := s.reachTask(ctx, params.UUID); err != nil {
		return answer[*tasker.Task]{}, err
	}
	wait := time.Duration(min(params.WaitMS, int(MaxWait.Milliseconds()))) * time.Millisecond
	waiting, cut, cancel := patient(ctx)
	defer cancel()
	task, err := s.backend.Task(waiting, params.UUID, wait)
	if err != nil && cut() {
		task, err = s.backend.Task(ctx, params.UUID, 0)
	}
	return ok(task), err
}

func (s *server) getHistory(ctx context.Context, params *taskPath, _ *none) (answer[*tasker.TaskHistory], error) {
	var no answer[*tasker.TaskHistory]
	if err := s.reachTask(ctx, params.UUID); err != nil {
		return no, err
	}
	history, err := s.backend.TaskHistory(ctx, params.UUID)
	if err != nil {
		return no, err
	}
	history.Transitions, history.Attempts = list(history.Transitions), list(history.Attempts)
	return ok(history), nil
}

func (s *server) explainTask(ctx context.Context, params *taskPath, _ *none) (answer[*tasker.Explanation], error) {
	if err := s.reachTask(ctx, params.UUID); err != nil {
		return answer[*tasker.Explanation]{}, err
	}
	explanation, err := s.backend.ExplainTask(ctx, params.UUID)
	return ok(explanation), err
}

func (s *server) cancelTask(ctx context.Context, params *cancelQuery, _ *none) (answer[tasker.TaskReceipt], error) {
	var no answer[tasker.TaskReceipt]
	receipts, err := s.cancel(ctx, tasker.CancelRequest{
		TaskUUIDs: []uuid.UUID{params.UUID}, CancelledBy: params.CancelledBy, Reason: params.Reason,
	})
	if err != nil {
		return no, aboutOne(err, "/task_uuids/0")
	}
	receipt, err := first(receipts)
	if err != nil {
		return no, err
	}
	if receipt.Error != nil {
		return no, aboutOne(receipt.Error, "/task_uuids/0")
	}
	return ok(receipt), nil
}

func (s *server) cancelTasks(ctx context.Context, _ *none, body *tasker.CancelRequest) (answer[results[tasker.TaskReceipt]], error) {
	receipts, err := s.cancel(ctx, *body)
	return ok(results[tasker.TaskReceipt]{list(receipts)}), err
}

// cancel cancels those tasks that the request's key reaches. The others are
// answered as if they did not exist, and do not hold back the rest.
func (s *server) cancel(ctx context.Context, req tasker.CancelRequest) ([]tasker.TaskReceipt, error) {
	if p := access.From(ctx); p != nil && req.CancelledBy == "" {
		req.CancelledBy = p.Name
	}
	if !access.From(ctx).Limited() {
		return s.backend.CancelTasks(ctx, req)
	}
	out := make([]tasker.TaskReceipt, len(req.TaskUUIDs))
	var reached []uuid.UUID
	var places []int
	for i, id := range req.TaskUUIDs {
		err := s.reachTask(ctx, id)
		if err == nil {
			reached, places = append(reached, id), append(places, i)
			continue
		}
		if tasker.ErrorCode(err) != tasker.CodeNotFound {
			return nil, err // the store does not answer: nothing is known about the task
		}
		out[i] = tasker.TaskReceipt{TaskUUID: id, Error: unknownTask(id)}
	}
	if len(reached) == 0 {
		return out, nil
	}
	req.TaskUUIDs = reached
	receipts, err := s.backend.CancelTasks(ctx, req)
	if err != nil {
		return nil, err
	}
	for i, receipt := range receipts {
		out[places[i]] = receipt
	}
	return out, nil
}

// taskFilter is a tasker.TaskFilter as a query.
type taskFilter struct {
	State         []string  `query:"state,explode" doc:"States; the parameter may repeat, or hold several separated by commas."`
	Namespace     string    `query:"namespace" maxLength:"255"`
	Name          string    `query:"name" maxLength:"255" doc:"Template name or task type."`
	Version       string    `query:"version" maxLength:"64"`
	Tag           string    `query:"tag" maxLength:"255"`
	CorrelationID string    `query:"correlation_id" maxLength:"255"`
	Priority      string    `query:"priority" maxLength:"64" doc:"A level's name or number."`
	CreatedAfter  time.Time `query:"created_after" doc:"Inclusive."`
	CreatedBefore time.Time `query:"created_before" doc:"Exclusive."`
	page
}

// page is the part of every list's query that turns pages.
type page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"next_cursor of the page before."`
}

func (q *taskFilter) filter() (tasker.TaskFilter, error) {
	f := tasker.TaskFilter{
		Namespace: q.Namespace, Name: q.Name, Version: q.Version, Tag: q.Tag, CorrelationID: q.CorrelationID,
		Priority: tasker.Priority(q.Priority), Limit: q.Limit, Cursor: q.Cursor,
	}
	if !q.CreatedAfter.IsZero() {
		f.CreatedAfter = &q.CreatedAfter
	}
	if !q.CreatedBefore.IsZero() {
		f.CreatedBefore = &q.CreatedBefore
	}
	for _, word := range strings.Split(strings.Join(q.State, ","), ",") {
		if word == "" {
			continue
		}
		state, err := parseState(word)
		if err != nil {
			return f, err
		}
		f.States = append(f.States, state)
	}
	return f, nil
}

func parseState(word string) (tasker.TaskState, error) {
	for _, state := range taskStates() {
		if string(state) == word {
			return state, nil
		}
	}
	err := tasker.Errorf(tasker.CodeInvalid, "the parameters break 1 rule")
	err.Details = []tasker.Detail{{Location: "query.state", Message: "must be one of " + joinWords(taskStates())}}
	return "", err
}
