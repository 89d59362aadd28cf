package operate

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// server is a Backend over HTTP. Its requests go through Client.Call, which bounds and authenticates them.
type server struct{ client *tasker.Client }

// Cases implements CaseBackend.
func (s server) Cases(ctx context.Context, f CaseFilter) ([]Case, error) {
	return fetchList[Case](ctx, s.client, "list cases", "/v1/dlq", f.query())
}

// CaseOfTask implements CaseBackend.
func (s server) CaseOfTask(ctx context.Context, task uuid.UUID) (*Case, error) {
	return fetch[Case](ctx, s.client, tasker.Request{Verb: "get case", Method: http.MethodGet,
		Path: "/v1/dlq/task/" + task.String()})
}

// OpenCase implements CaseBackend. After a lost response, a second call gets CodeConflict if
// the first was stored.
func (s server) OpenCase(ctx context.Context, task uuid.UUID, req OpenCaseRequest) (*Case, error) {
	return fetch[Case](ctx, s.client, tasker.Request{Verb: "open case", Method: http.MethodPost,
		Path: "/v1/dlq/task/" + task.String(), Body: req})
}

// UpdateCase implements CaseBackend. Set IfMatch to repeat an update safely.
func (s server) UpdateCase(ctx context.Context, id uuid.UUID, update CaseUpdate) (*CaseUpdated, error) {
	return fetch[CaseUpdated](ctx, s.client, tasker.Request{Verb: "update case", Method: http.MethodPatch,
		Path: "/v1/dlq/entry/" + id.String(), Body: update})
}

// UpdateCases implements CaseBackend.
func (s server) UpdateCases(ctx context.Context, req BulkCaseUpdate) (*BulkResult, error) {
	return fetch[BulkResult](ctx, s.client, tasker.Request{Verb: "update cases", Method: http.MethodPost,
		Path: "/v1/dlq/update", Body: req})
}

// ActOnCases implements CaseBackend.
func (s server) ActOnCases(ctx context.Context, req BulkStepAction) (*BulkResult, error) {
	return fetch[BulkResult](ctx, s.client, tasker.Request{Verb: "act on cases", Method: http.MethodPost,
		Path: "/v1/dlq/act", Body: req})
}

// CaseStats implements CaseBackend. It drops the page of the filter, which the server would refuse.
func (s server) CaseStats(ctx context.Context, f CaseFilter) ([]CaseStats, error) {
	f.Limit, f.Offset = 0, 0 // counts have no pages
	return fetchList[CaseStats](ctx, s.client, "count cases", "/v1/dlq/stats", f.query())
}

// InvestigationQueue implements CaseBackend.
func (s server) InvestigationQueue(ctx context.Context, f CaseFilter) ([]QueuedCase, error) {
	return fetchList[QueuedCase](ctx, s.client, "get investigation queue", "/v1/dlq/investigation-queue", f.query())
}

// Staleness implements FailureBackend.
func (s server) Staleness(ctx context.Context, f StalenessFilter) ([]StaleTask, error) {
	q := query.Values{}
	q.Set("health_status", string(f.Health))
	q.Set("namespace_name", f.Namespace)
	q.Set("task_name", f.TaskName)
	q.SetInt("limit", f.Limit)
	return fetchList[StaleTask](ctx, s.client, "get staleness", "/v1/dlq/staleness", q)
}

// DetectStaleness implements FailureBackend.
func (s server) DetectStaleness(ctx context.Context, req DetectRequest) ([]Detection, error) {
	var out []Detection
	c := tasker.Request{Verb: "detect staleness", Method: http.MethodPost, Path: "/v1/dlq/staleness/detect", Body: req}
	if err := s.client.Call(ctx, c, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// Audit implements Backend.
func (s server) Audit(ctx context.Context, f AuditFilter) ([]AuditRecord, error) {
	q := query.Values{}
	q.SetID("task_uuid", f.TaskUUID)
	q.SetID("dlq_entry_uuid", f.CaseUUID)
	q.SetID("worker_id", f.WorkerID)
	q.Set("namespace", f.Namespace)
	q.Set("template", f.Template)
	q.Set("actor", f.Actor)
	q.Set("key_name", f.KeyName)
	q.Set("kind", f.Kind)
	q.SetTime("after", f.After)
	q.SetTime("before", f.Before)
	q.SetInt("limit", f.Limit)
	if f.Below != 0 {
		q.Set("below", strconv.FormatInt(f.Below, 10))
	}
	return fetchList[AuditRecord](ctx, s.client, "get audit trail", "/v1/audit", q)
}

// AuditChain implements ChainBackend.
func (s server) AuditChain(ctx context.Context, f AuditChainFilter) (*AuditChain, error) {
	q := query.Values{}
	q.SetInt("above", int(f.Above))
	q.SetInt("limit", f.Limit)
	return fetch[AuditChain](ctx, s.client, tasker.Request{Verb: "get audit chain", Method: http.MethodGet,
		Path: "/v1/audit/chain", Query: url.Values(q)})
}

// LooseActs implements ChainBackend.
func (s server) LooseActs(ctx context.Context, above int64) (*LooseActs, error) {
	q := query.Values{}
	q.SetInt("above", int(above))
	return fetch[LooseActs](ctx, s.client, tasker.Request{Verb: "get loose acts", Method: http.MethodGet,
		Path: "/v1/audit/loose", Query: url.Values(q)})
}

func (f CaseFilter) query() query.Values {
	q := query.Values{}
	q.Set("resolution_status", string(f.ResolutionStatus))
	q.Set("dlq_reason", string(f.Reason))
	q.Set("namespace", f.Namespace)
	q.Set("task_name", f.TaskName)
	q.Set("current_state", string(f.CurrentState))
	q.Set("failed_step", f.FailedStep)
	q.Set("handler", f.Handler)
	q.Set("error_pattern", f.Fingerprint)
	q.Set("error_message", f.ErrorMessage)
	q.SetTime("after", f.After)
	q.SetTime("before", f.Before)
	q.SetInt("limit", f.Limit)
	q.SetInt("offset", f.Offset)
	return q
}

func fetch[T any](ctx context.Context, c *tasker.Client, r tasker.Request) (*T, error) {
	out := new(T)
	if err := c.Call(ctx, r, out); err != nil {
		return nil, err
	}
	return out, nil
}

func fetchList[T any](ctx context.Context, c *tasker.Client, verb, path string, q query.Values) ([]T, error) {
	var out []T
	if err := c.Call(ctx, tasker.Request{Verb: verb, Method: http.MethodGet, Path: path, Query: url.Values(q)},
		&out); err != nil {
		return nil, err
	}
	return out, nil
}

// FailedTasks implements FailureBackend. This and the next two are routes of the queue API.
func (s server) FailedTasks(ctx context.Context, f FailedTaskFilter) (*FailedTaskPage, error) {
	q := query.Values{}
	q.Set("resolution_status", string(f.ResolutionStatus))
	q.Set("failure_reason", string(f.Reason))
	q.Set("error_pattern", f.Fingerprint)
	q.Set("failed_step", f.FailedStep)
	q.Set("error_message", f.ErrorMessage)
	if f.Retryable != nil {
		q.Set("retryable", strconv.FormatBool(*f.Retryable))
	}
	q.Set("namespace", f.Namespace)
	q.Set("task_type", f.TaskType)
	q.SetTime("after", f.After)
	q.SetTime("before", f.Before)
	q.SetInt("limit", f.Limit)
	q.Set("cursor", f.Cursor)
	return fetch[FailedTaskPage](ctx, s.client, tasker.Request{Verb: "list failed tasks", Method: http.MethodGet,
		Path: "/api/v1/dlq", Query: url.Values(q)})
}

// ReplayTask implements FailureBackend. A second call after a lost response gets CodeWrongState
// if the first was done.
func (s server) ReplayTask(ctx context.Context, task uuid.UUID, req ReplayRequest) (*Replay, error) {
	return fetch[Replay](ctx, s.client, tasker.Request{Verb: "replay task", Method: http.MethodPost,
		Path: "/api/v1/dlq/" + task.String() + "/replay", Body: req})
}

// FailureReport implements FailureBackend.
func (s server) FailureReport(ctx context.Context, namespace string) (*FailureReport, error) {
	q := query.Values{}
	q.Set("namespace", namespace)
	return fetch[FailureReport](ctx, s.client, tasker.Request{Verb: "get failure report", Method: http.MethodGet,
		Path: "/api/v1/dlq/patterns", Query: url.Values(q)})
}
