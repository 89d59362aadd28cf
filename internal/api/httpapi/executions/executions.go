package executions

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/api/executionapi"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/web"
)

// Path names an execution. It is exported because huma ignores unexported embedded structs.
type Path struct {
	ID uuid.UUID `path:"id" doc:"The execution."`
}

type actPath struct {
	Path
	endpoint.Match
}

// create answers 201 for a new execution, 200 for one with the same idempotency key.
func (f *family) create(ctx context.Context, _ *endpoint.None, body *executionapi.ExecutionRequest,
) (answer endpoint.Answer[*executionapi.Execution], err error) {
	if err := endpoint.ReachNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return answer, err
	}
	body.Caller, body.TraceParent = endpoint.Caller(ctx), web.TraceParent(ctx)
	e, created, err := f.executions.Create(ctx, *body)
	if err != nil {
		return answer, moved(err)
	}
	return endpoint.Stored(created, "/api/v1/executions/"+e.ID.String(), e), nil
}

// moved renames the places of faults to those of this body.
func moved(err error) error {
	for from, to := range map[string]string{"/task_type": "/action_ref", "/name": "/action_ref",
		"/context": "/parameters", "/user_id": "/initiator"} {
		err = endpoint.Moved(err, "/tasks/0"+from, to)
	}
	return endpoint.Moved(err, "/tasks/0", "")
}

type listQuery struct {
	Status         []string  `query:"status,explode" doc:"requested, scheduling, scheduled, running, completed, failed, canceling, cancelled, timeout or abandoned; repeatable, or several separated by commas."`
	ActionRef      string    `query:"action_ref" maxLength:"255" doc:"Name of the action; * stands for any characters."`
	ResultContains string    `query:"result_contains" maxLength:"255" doc:"A literal part of the result as JSON text, of executions that have ended. 200 of them are searched per page."`
	TopLevelOnly   bool      `query:"top_level_only" doc:"Accepted for compatibility: every execution is at the top level."`
	Namespace      string    `query:"namespace" maxLength:"255"`
	Initiator      string    `query:"initiator" maxLength:"255"`
	CreatedAfter   time.Time `query:"created_after" doc:"Inclusive."`
	CreatedBefore  time.Time `query:"created_before" doc:"Exclusive."`
	Limit          int       `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"Page size."`
	Cursor         string    `query:"cursor" maxLength:"64" doc:"next_cursor of the previous page."`
}

func (f *family) list(ctx context.Context, params *listQuery, _ *endpoint.None) (*executionapi.ExecutionPage, error) {
	filter := executionapi.Filter{ActionRef: params.ActionRef, ResultContains: params.ResultContains,
		Initiator: params.Initiator, CreatedAfter: endpoint.Given(params.CreatedAfter),
		CreatedBefore: endpoint.Given(params.CreatedBefore), Limit: params.Limit, Cursor: params.Cursor}
	var err error
	if filter.Statuses, err = endpoint.Words[executionapi.Status](params.Status); err != nil {
		return nil, err
	}
	if filter.Namespace, err = endpoint.NarrowNamespace(ctx, params.Namespace); err != nil {
		return nil, err
	}
	return f.executions.Executions(ctx, filter)
}

func (f *family) execution(ctx context.Context, params *Path, _ *endpoint.None) (*executionapi.Execution, error) {
	return f.executions.Execution(ctx, params.ID)
}

func (f *family) cancel(ctx context.Context, params *actPath, body *executionapi.ExecutionCancel,
) (*executionapi.Execution, error) {
	body.CancelledBy = cmp.Or(body.CancelledBy, endpoint.Caller(ctx))
	return f.executions.Cancel(ctx, params.ID, *body, params.IfMatch)
}

func (f *family) retry(ctx context.Context, params *actPath, body *executionapi.ExecutionRetry,
) (*executionapi.Execution, error) {
	body.RetriedBy = cmp.Or(body.RetriedBy, endpoint.Caller(ctx))
	e, err := f.executions.Retry(ctx, params.ID, *body, params.IfMatch)
	return e, endpoint.Moved(err, "/replayed_by", "/retried_by")
}

type statsQuery struct {
	Namespace []string `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
}

func (f *family) stats(ctx context.Context, params *statsQuery, _ *endpoint.None,
) (*executionapi.ExecutionStats, error) {
	namespaces, err := endpoint.NarrowNamespaces(ctx, params.Namespace)
	if err != nil {
		return nil, err
	}
	return f.executions.Stats(ctx, namespaces)
}

type expiredQuery struct {
	Namespace []string `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
	Hours     int      `query:"hours" minimum:"1" maximum:"720" default:"24" doc:"Length of the period up to now."`
}

func (f *family) expired(ctx context.Context, params *expiredQuery, _ *endpoint.None,
) (*executionapi.ExpiredReport, error) {
	namespaces, err := endpoint.NarrowNamespaces(ctx, params.Namespace)
	if err != nil {
		return nil, err
	}
	return f.executions.ExpiredReport(ctx, namespaces, time.Now().Add(-time.Duration(params.Hours)*time.Hour))
}
