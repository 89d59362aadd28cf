package httpapi

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/web"
)

// TaskPath names a task. It is exported because huma ignores unexported embedded structs.
type TaskPath struct {
	UUID uuid.UUID `path:"uuid" doc:"The task."`
}

type taskQuery struct {
	TaskPath
	WaitMS int `query:"wait_ms" minimum:"0" doc:"Maximum wait for the task to be settled, at most 60000."`
}

func (s *server) listTasks(ctx context.Context, params *taskFilter, _ *endpoint.None) (tasker.TaskPage, error) {
	var no tasker.TaskPage
	filter, err := params.filter()
	if err != nil {
		return no, err
	}
	if filter.Namespace, err = endpoint.NarrowNamespace(ctx, filter.Namespace); err != nil {
		return no, err
	}
	page, err := s.backend.Tasks(ctx, filter)
	if err != nil {
		return no, err
	}
	return tasker.TaskPage{Tasks: endpoint.List(page.Tasks), NextCursor: page.NextCursor}, nil
}

// getTask answers, with wait_ms, when the task is settled or the time is over. A stopping server cuts the wait short
// and answers with the present state.
func (s *server) getTask(ctx context.Context, params *taskQuery, _ *endpoint.None) (*tasker.Task, error) {
	wait := time.Duration(min(params.WaitMS, int(web.MaxWait.Milliseconds()))) * time.Millisecond
	waiting, cut, cancel := web.Patient(ctx)
	defer cancel()
	task, err := s.backend.Task(waiting, params.UUID, wait)
	// Only the wait was cut: the request continues, and the task can be read.
	if err != nil && cut() {
		task, err = s.backend.Task(ctx, params.UUID, 0)
	}
	return task, err
}

func (s *server) getHistory(ctx context.Context, params *TaskPath, _ *endpoint.None) (*tasker.TaskHistory, error) {
	history, err := s.backend.TaskHistory(ctx, params.UUID)
	if err != nil {
		return nil, err
	}
	history.Transitions, history.Attempts = endpoint.List(history.Transitions), endpoint.List(history.Attempts)
	return history, nil
}

func (s *server) explainTask(ctx context.Context, params *TaskPath, _ *endpoint.None) (*tasker.Explanation, error) {
	return s.backend.ExplainTask(ctx, params.UUID)
}

type taskFilter struct {
	State         []string  `query:"state,explode" doc:"States; repeatable, or several separated by commas."`
	Namespace     string    `query:"namespace" maxLength:"255"`
	Name          string    `query:"name" maxLength:"255" doc:"Template name or task type."`
	Version       string    `query:"version" maxLength:"64"`
	Tag           string    `query:"tag" maxLength:"255"`
	CorrelationID string    `query:"correlation_id" maxLength:"255"`
	Initiator     string    `query:"initiator" maxLength:"255" doc:"Initiator of the task; user_id in the queue API."`
	Priority      string    `query:"priority" maxLength:"64" doc:"Name or number of a level."`
	CreatedAfter  time.Time `query:"created_after" doc:"Inclusive."`
	CreatedBefore time.Time `query:"created_before" doc:"Exclusive."`
	Include       string    `query:"include" enum:"context" doc:"context: include the contexts of the tasks. A page then ends early at the byte limit of the server; use its cursor for the rest."`
	endpoint.PageQuery
}

// filter refuses an unknown state, which would look like an empty list.
func (q *taskFilter) filter() (tasker.TaskFilter, error) {
	f := tasker.TaskFilter{
		Namespace: q.Namespace, Name: q.Name, Version: q.Version, Tag: q.Tag, CorrelationID: q.CorrelationID,
		Initiator: q.Initiator, Priority: tasker.Priority(q.Priority), Limit: q.Limit, Cursor: q.Cursor,
		WithContext: q.Include == "context",
	}
	if !q.CreatedAfter.IsZero() {
		f.CreatedAfter = &q.CreatedAfter
	}
	if !q.CreatedBefore.IsZero() {
		f.CreatedBefore = &q.CreatedBefore
	}
	for _, word := range strings.Split(strings.Join(q.State, ","), ",") {
		// ?state= and a comma at the end name no state.
		if word == "" {
			continue
		}
		state, err := endpoint.ParseTaskState("query.state", word)
		if err != nil {
			return f, err
		}
		f.States = append(f.States, state)
	}
	return f, nil
}

type cancelQuery struct {
	TaskPath
	endpoint.CancelParams
}

// cancelTask cancels a batch of one, so the item's error is the request's.
func (s *server) cancelTask(ctx context.Context, params *cancelQuery, _ *endpoint.None) (tasker.TaskReceipt, error) {
	var no tasker.TaskReceipt
	receipts, err := s.cancel(ctx, tasker.CancelRequest{
		TaskUUIDs: []uuid.UUID{params.UUID}, CancelledBy: params.CancelledBy, Reason: params.Reason,
		ExpectedState: params.ExpectedState, IfMatch: params.IfMatch,
	})
	if err != nil {
		return no, endpoint.Moved(err, "/task_uuids/0", "")
	}
	receipt, err := endpoint.First(receipts)
	if err != nil {
		return no, err
	}
	if receipt.Error != nil {
		return no, endpoint.Moved(receipt.Error, "/task_uuids/0", "")
	}
	return receipt, nil
}

// cancelTasks decides task by task; a refused task has its error in its receipt.
func (s *server) cancelTasks(ctx context.Context, _ *endpoint.None, body *tasker.CancelRequest,
) (endpoint.Results[tasker.TaskReceipt], error) {
	receipts, err := s.cancel(ctx, *body)
	return endpoint.ResultsOf(receipts), err
}

func (s *server) cancel(ctx context.Context, req tasker.CancelRequest) ([]tasker.TaskReceipt, error) {
	req.CancelledBy = cmp.Or(req.CancelledBy, endpoint.Caller(ctx))
	return s.backend.CancelTasks(ctx, req)
}

// editContext cannot set a context to null, which means a missing value here; callers use an empty object.
func (s *server) editContext(ctx context.Context, params *TaskPath, body *tasker.EditContextRequest,
) (*tasker.EditedContext, error) {
	body.Context, body.Merge = absent(body.Context), absent(body.Merge)
	body.EditedBy = cmp.Or(body.EditedBy, endpoint.Caller(ctx))
	err := s.masker.RefuseContext(ctx, params.UUID, "/context", body.Context)
	if err == nil {
		err = s.masker.RefuseContext(ctx, params.UUID, "/merge", body.Merge)
	}
	if err != nil {
		return nil, err
	}
	edited, err := s.backend.EditContext(ctx, params.UUID, *body)
	if err != nil {
		return nil, err
	}
	edited.EndedSteps = endpoint.List(edited.EndedSteps)
	return edited, nil
}
