package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

type caseTaskPath struct {
	UUID uuid.UUID `path:"task_uuid" doc:"The task."`
}

// CasePath names a case. It is exported for the same reason as TaskPath.
type CasePath struct {
	UUID uuid.UUID `path:"dlq_entry_uuid" doc:"The case."`
}

// CaseQuery has the filters of every list of cases. Exported for the same reason as TaskPath.
type CaseQuery struct {
	Status    string    `query:"resolution_status" enum:"pending,manually_resolved,permanently_failed,cancelled"`
	Reason    string    `query:"dlq_reason" enum:"staleness_timeout,max_retries_exceeded,dependency_cycle_detected,worker_unavailable,manual_dlq"`
	Namespace string    `query:"namespace" maxLength:"255"`
	TaskName  string    `query:"task_name" maxLength:"255" doc:"Template name or task type."`
	State     string    `query:"current_state" enum:"pending,initializing,enqueuing_steps,steps_in_process,evaluating_results,waiting_for_dependencies,waiting_for_retry,blocked_by_failures,complete,error,cancelled,resolved_manually" doc:"Current state of the task."`
	After     time.Time `query:"after" doc:"Opened at or after this time."`
	Before    time.Time `query:"before" doc:"Opened before this time."`
}

// FailureQuery filters a list of cases by the failure. Exported for the same reason as TaskPath.
type FailureQuery struct {
	FailedStep   string `query:"failed_step" maxLength:"255" doc:"Name of the failed step that stops the task."`
	Handler      string `query:"handler" maxLength:"255" doc:"Handler of that step."`
	Fingerprint  string `query:"error_pattern" maxLength:"255" doc:"Fingerprint of the failure, as lists show it."`
	ErrorMessage string `query:"error_message" maxLength:"255" doc:"A literal part of the error message. Step, handler and message are searched in the first 20,000 cases that match the other filters."`
}

type caseFilter struct {
	CaseQuery
	FailureQuery
	Limit  int `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Offset int `query:"offset" minimum:"0" maximum:"1000000" default:"0" doc:"Number of cases to skip."`
}

type queueFilter struct {
	CaseQuery
	FailureQuery
	Limit  int `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Page size."`
	Offset int `query:"offset" minimum:"0" maximum:"1000000" default:"0" doc:"Number of cases to skip."`
}

func (q *CaseQuery) filter(ctx context.Context) (operate.CaseFilter, error) {
	namespace, err := endpoint.NarrowNamespace(ctx, q.Namespace)
	return operate.CaseFilter{
		ResolutionStatus: tasker.CaseResolution(q.Status), Reason: tasker.CaseReason(q.Reason), Namespace: namespace,
		TaskName: q.TaskName, CurrentState: tasker.TaskState(q.State), After: q.After, Before: q.Before,
	}, err
}

func (s *server) listCases(ctx context.Context, params *caseFilter, _ *endpoint.None) ([]operate.Case, error) {
	filter, err := params.filter(ctx)
	if err != nil {
		return nil, err
	}
	filter.Limit, filter.Offset = params.Limit, params.Offset
	// The conversion compiles only while both types have the same fields.
	filter.CaseFailureFilter = operate.CaseFailureFilter(params.FailureQuery)
	return endpoint.Listed(s.backend.Cases(ctx, filter))
}

func (s *server) caseStats(ctx context.Context, params *CaseQuery, _ *endpoint.None) ([]operate.CaseStats, error) {
	filter, err := params.filter(ctx)
	if err != nil {
		return nil, err
	}
	return endpoint.Listed(s.backend.CaseStats(ctx, filter))
}

func (s *server) investigationQueue(ctx context.Context, params *queueFilter, _ *endpoint.None,
) ([]operate.QueuedCase, error) {
	filter, err := params.filter(ctx)
	if err != nil {
		return nil, err
	}
	filter.Limit, filter.Offset = params.Limit, params.Offset
	filter.CaseFailureFilter = operate.CaseFailureFilter(params.FailureQuery)
	return endpoint.Listed(s.backend.InvestigationQueue(ctx, filter))
}

func (s *server) getCase(ctx context.Context, params *caseTaskPath, _ *endpoint.None) (*operate.Case, error) {
	return s.backend.CaseOfTask(ctx, params.UUID)
}

func (s *server) openCase(ctx context.Context, params *caseTaskPath, body *operate.OpenCaseRequest,
) (endpoint.Answer[*operate.Case], error) {
	body.OpenedBy, body.Metadata = cmp.Or(body.OpenedBy, endpoint.Caller(ctx)), absent(body.Metadata)
	opened, err := s.backend.OpenCase(ctx, params.UUID, *body)
	return endpoint.Stored(true, "/v1/dlq/task/"+params.UUID.String(), opened), err
}

type caseUpdatePath struct {
	CasePath
	endpoint.Match
}

func (s *server) updateCase(ctx context.Context, params *caseUpdatePath, body *operate.CaseUpdate,
) (*operate.CaseUpdated, error) {
	body.ResolvedBy, body.Metadata = cmp.Or(body.ResolvedBy, endpoint.Caller(ctx)), absent(body.Metadata)
	return s.backend.UpdateCase(ctx, params.UUID, *body)
}

func absent(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// updateCases changes one page of cases per request; the caller continues with the cursor.
func (s *server) updateCases(ctx context.Context, _ *endpoint.None, body *operate.BulkCaseUpdate,
) (*operate.BulkResult, error) {
	if err := narrowBody(ctx, &body.Filter); err != nil {
		return nil, err
	}
	body.Update.ResolvedBy = cmp.Or(body.Update.ResolvedBy, endpoint.Caller(ctx))
	body.Update.Metadata = absent(body.Update.Metadata)
	return bulkAnswer(s.backend.UpdateCases(ctx, *body))
}

// actOnCases: each kind of act has its own field for the actor, which defaults to the key's name.
func (s *server) actOnCases(ctx context.Context, _ *endpoint.None, body *operate.BulkStepAction,
) (*operate.BulkResult, error) {
	if err := narrowBody(ctx, &body.Filter); err != nil {
		return nil, err
	}
	if actor := actorOf(&body.Action); actor != nil {
		*actor = cmp.Or(*actor, endpoint.Caller(ctx))
	}
	return bulkAnswer(s.backend.ActOnCases(ctx, *body))
}

// NarrowNamespace names a place in the query; narrowBody moves it to the body.
func narrowBody(ctx context.Context, f *operate.CaseFilter) (err error) {
	f.Namespace, err = endpoint.NarrowNamespace(ctx, f.Namespace)
	return endpoint.Moved(err, "query.namespace", "/filter/namespace")
}

func bulkAnswer(result *operate.BulkResult, err error) (*operate.BulkResult, error) {
	if err != nil {
		return nil, err
	}
	result.Results = endpoint.List(result.Results)
	return result, nil
}

func (s *server) staleness(ctx context.Context, filter *operate.StalenessFilter, _ *endpoint.None,
) ([]operate.StaleTask, error) {
	return endpoint.Listed(endpoint.Narrowed(ctx, &filter.Namespace, s.backend.Staleness, filter))
}

// detectStaleness checks the tasks of all namespaces, so a limited key may not run it, not even as a dry run.
func (s *server) detectStaleness(ctx context.Context, _ *endpoint.None, body *operate.DetectRequest,
) ([]operate.Detection, error) {
	if p := access.From(ctx); p.Limited() {
		return nil, endpoint.OutsideNamespaces(p, tasker.Detail{Message: "the detector looks at the tasks of all namespaces"})
	}
	return endpoint.Listed(s.backend.DetectStaleness(ctx, *body))
}
