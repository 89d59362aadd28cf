package queueapi

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

const queueTasks = "/api/v1/tasks"

type server struct{ client *tasker.Client }

func (s server) EnqueueTasks(ctx context.Context, req EnqueueRequest) ([]QueueReceipt, error) {
	c := tasker.Request{Verb: "enqueue tasks", Method: http.MethodPost, Path: queueTasks}
	if len(req.Tasks) == 1 {
		c.Body = req.Tasks[0]
		receipt, err := query.Ask[QueueReceipt](ctx, s.client, c)
		if err != nil {
			return nil, err
		}
		return []QueueReceipt{*receipt}, nil
	}
	var out struct {
		Results []QueueReceipt `json:"results"`
	}
	c.Path, c.Body = queueTasks+"/batch", req
	if err := s.client.Call(ctx, c, &out); err != nil {
		return nil, err
	}
	if asked, answered := len(req.Tasks), len(out.Results); asked != answered {
		return out.Results, tasker.Errorf(tasker.CodeInternal, "%s: the server answered %d of %d items", c.Verb, answered,
			asked)
	}
	return out.Results, nil
}

func (s server) QueueTask(ctx context.Context, id uuid.UUID, history bool) (*QueueTask, error) {
	c := tasker.Request{Verb: "get task", Method: http.MethodGet, Path: queueTasks + "/" + id.String()}
	if history {
		c.Query = url.Values{"include_history": {"true"}}
	}
	return query.Ask[QueueTask](ctx, s.client, c)
}

func (s server) QueueTasks(ctx context.Context, f QueueTaskFilter) (*QueueTaskPage, error) {
	return query.Ask[QueueTaskPage](ctx, s.client, tasker.Request{Verb: "list tasks", Method: http.MethodGet,
		Path: queueTasks, Query: url.Values(query.Of(f))})
}

func (s server) CancelQueueTask(ctx context.Context, id uuid.UUID, req QueueCancel) (*QueueCancelled, error) {
	q := query.Values{}
	q.Set("cancelled_by", req.CancelledBy)
	q.Set("reason", req.Reason)
	q.Set("expected_state", string(req.ExpectedState))
	q.Set("if_match", req.IfMatch)
	return query.Ask[QueueCancelled](ctx, s.client, tasker.Request{Verb: "cancel task", Method: http.MethodDelete,
		Path: queueTasks + "/" + id.String(), Query: url.Values(q)})
}

func (s server) Routes(ctx context.Context, f RouteFilter) (*RoutePage, error) {
	return query.Ask[RoutePage](ctx, s.client, tasker.Request{Verb: "list routes", Method: http.MethodGet,
		Path: "/v1/routes", Query: url.Values(query.Of(f))})
}

func (s server) QueueStats(ctx context.Context, f QueueFilter) (*QueueStats, error) {
	return query.Ask[QueueStats](ctx, s.client, tasker.Request{Verb: "get queue stats", Method: http.MethodGet,
		Path: "/api/v1/queue/stats", Query: url.Values(query.Of(f))})
}
