package waiting

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/waits"
)

type family struct{ backend waits.Backend }

// Routes adds the family to an API. Signals come from the systems that submit tasks.
func Routes(api *endpoint.API, backend waits.Backend) {
	f := &family{backend}
	endpoint.Add(api, endpoint.Post("/v1/signals", "send-signal", "Send a signal to the steps that wait for it",
		[]access.Permission{access.Submit}, endpoint.Hot|endpoint.Creates|endpoint.Conflicts|endpoint.Limited), f.send)
	endpoint.Add(api, endpoint.Get("/v1/signals", "list-signals", "List the signals that are kept",
		[]access.Permission{access.Read}, 0), f.signals)
	endpoint.Add(api, endpoint.Get("/v1/approvals", "list-approvals", "List the steps that wait for an approval",
		[]access.Permission{access.Read}, 0), f.approvals)
}

type approvalsQuery struct {
	Namespace []string  `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
	Template  string    `query:"template" maxLength:"255" doc:"Name of the template."`
	Step      string    `query:"step" maxLength:"255" doc:"Name of the step."`
	TaskUUID  uuid.UUID `query:"task_uuid" doc:"Task of the steps."`
	After     time.Time `query:"after" doc:"Began to wait at or after this time."`
	Before    time.Time `query:"before" doc:"Began to wait before this time."`
	endpoint.PageQuery
}

func (f *family) approvals(ctx context.Context, params *approvalsQuery,
	_ *endpoint.None,
) (endpoint.Answer[*waits.ApprovalPage], error) {
	var no endpoint.Answer[*waits.ApprovalPage]
	namespaces, err := endpoint.NarrowNamespaces(ctx, params.Namespace)
	if err != nil {
		return no, err
	}
	page, err := f.backend.Approvals(ctx, waits.ApprovalFilter{Namespaces: namespaces, Template: params.Template,
		Step: params.Step, TaskUUID: params.TaskUUID, After: params.After, Before: params.Before, Limit: params.Limit,
		Cursor: params.Cursor})
	if err != nil {
		return no, err
	}
	page.Approvals = endpoint.List(page.Approvals)
	return endpoint.OK(page), nil
}

type signalsQuery struct {
	Namespace    []string  `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
	Name         string    `query:"name" maxLength:"255" doc:"Name of the signal."`
	Key          string    `query:"key" maxLength:"255" doc:"Key of the signal."`
	After        time.Time `query:"after" doc:"Received at or after this time."`
	Before       time.Time `query:"before" doc:"Received before this time."`
	IncludeTaken bool      `query:"include_taken" doc:"Also signals that a step has taken. By default only those that none has."`
	endpoint.PageQuery
}

func (f *family) signals(ctx context.Context, params *signalsQuery,
	_ *endpoint.None,
) (endpoint.Answer[*waits.SignalPage], error) {
	var no endpoint.Answer[*waits.SignalPage]
	namespaces, err := endpoint.NarrowNamespaces(ctx, params.Namespace)
	if err != nil {
		return no, err
	}
	page, err := f.backend.Signals(ctx, waits.SignalFilter{Namespaces: namespaces, Name: params.Name, Key: params.Key,
		After: params.After, Before: params.Before, IncludeTaken: params.IncludeTaken, Limit: params.Limit,
		Cursor: params.Cursor})
	if err != nil {
		return no, err
	}
	page.Signals = endpoint.List(page.Signals)
	return endpoint.OK(page), nil
}

func (f *family) send(ctx context.Context, _ *endpoint.None,
	body *waits.SignalRequest,
) (endpoint.Answer[*waits.Signal], error) {
	var no endpoint.Answer[*waits.Signal]
	if err := endpoint.ReachNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return no, err
	}
	s, err := f.backend.SendSignal(ctx, *body)
	if err != nil {
		return no, err
	}
	return endpoint.Stored(s.Created, "/v1/signals", s), nil
}
