package tasker

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
)

func (b *httpBackend) Cases(ctx context.Context, f CaseFilter) ([]Case, error) {
	return fetchList[Case](ctx, b, "list cases", "/v1/dlq", f.query())
}

func (b *httpBackend) CaseOfTask(ctx context.Context, task uuid.UUID) (*Case, error) {
	return fetch[Case](ctx, b, call{verb: "get case", method: http.MethodGet, path: "/v1/dlq/task/" + task.String()})
}

func (b *httpBackend) OpenCase(ctx context.Context, task uuid.UUID, req OpenCaseRequest) (*Case, error) {
	return fetch[Case](ctx, b, call{verb: "open case", method: http.MethodPost, path: "/v1/dlq/task/" + task.String(), body: req})
}

func (b *httpBackend) UpdateCase(ctx context.Context, id uuid.UUID, update CaseUpdate) (*CaseUpdated, error) {
	return fetch[CaseUpdated](ctx, b, call{verb: "update case", method: http.MethodPatch, path: "/v1/dlq/entry/" + id.String(), body: update})
}

func (b *httpBackend) UpdateCases(ctx context.Context, req BulkCaseUpdate) (*BulkResult, error) {
	return fetch[BulkResult](ctx, b, call{verb: "update cases", method: http.MethodPost, path: "/v1/dlq/update", body: req})
}

func (b *httpBackend) ActOnCases(ctx context.Context, req BulkStepAction) (*BulkResult, error) {
	return fetch[BulkResult](ctx, b, call{verb: "act on cases", method: http.MethodPost, path: "/v1/dlq/act", body: req})
}

func (b *httpBackend) CaseStats(ctx context.Context, f CaseFilter) ([]CaseStats, error) {
	f.Limit, f.Offset = 0, 0 // there are no pages of counts
	return fetchList[CaseStats](ctx, b, "count cases", "/v1/dlq/stats", f.query())
}

func (b *httpBackend) InvestigationQueue(ctx context.Context, f CaseFilter) ([]QueuedCase, error) {
	return fetchList[QueuedCase](ctx, b, "get investigation queue", "/v1/dlq/investigation-queue", f.query())
}

func (b *httpBackend) Staleness(ctx context.Context, f StalenessFilter) ([]StaleTask, error) {
	q := make(query)
	q.set("health_status", string(f.Health))
	q.set("namespace_name", f.Namespace)
	q.set("task_name", f.TaskName)
	q.setInt("limit", f.Limit)
	return fetchList[StaleTask](ctx, b, "get staleness", "/v1/dlq/staleness", q)
}

func (b *httpBackend) DetectStaleness(ctx context.Context, req DetectRequest) ([]Detection, error) {
	var out []Detection
	c := call{verb: "detect staleness", method: http.MethodPost, path: "/v1/dlq/staleness/detect", body: req}
	if err := b.do(ctx, c, &out); err != nil {
		return nil, err
	}
	return out, nil
}

func (b *httpBackend) Audit(ctx context.Context, f AuditFilter) ([]AuditRecord, error) {
	q := make(query)
	q.setID("task_uuid", f.TaskUUID)
	q.setID("dlq_entry_uuid", f.CaseUUID)
	q.setID("worker_id", f.WorkerID)
	q.set("namespace", f.Namespace)
	q.set("template", f.Template)
	q.set("actor", f.Actor)
	q.set("key_name", f.KeyName)
	q.set("kind", f.Kind)
	q.setTime("after", given(f.After))
	q.setTime("before", given(f.Before))
	q.setInt("limit", f.Limit)
	if f.Below != 0 {
		q.set("below", strconv.FormatInt(f.Below, 10))
	}
	return fetchList[AuditRecord](ctx, b, "get audit trail", "/v1/audit", q)
}

// query is the filter as parameters.
func (f CaseFilter) query() query {
	q := make(query)
	q.set("resolution_status", string(f.ResolutionStatus))
	q.set("dlq_reason", string(f.Reason))
	q.set("namespace", f.Namespace)
	q.set("task_name", f.TaskName)
	q.set("current_state", string(f.CurrentState))
	q.set("failed_step", f.FailedStep)
	q.set("handler", f.Handler)
	q.set("error_pattern", f.Fingerprint)
	q.set("error_message", f.ErrorMessage)
	q.setTime("after", given(f.After))
	q.setTime("before", given(f.Before))
	q.setInt("limit", f.Limit)
	q.setInt("offset", f.Offset)
	return q
}

// fetchList reads a list whose body is a bare array.
func fetchList[T any](ctx context.Context, b *httpBackend, verb, path string, q query) ([]T, error) {
	var out []T
	c := call{verb: verb, method: http.MethodGet, path: path, query: url.Values(q)}
	if err := b.do(ctx, c, &out); err != nil {
		return nil, err
	}
	return out, nil
}

func (q query) setID(key string, id uuid.UUID) {
	if id != uuid.Nil {
		q.set(key, id.String())
	}
}

// given is nil for the zero time, which restricts nothing.
func given(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (b *httpBackend) FailedTasks(ctx context.Context, f FailedTaskFilter) (*FailedTaskPage, error) {
	q := make(query)
	q.set("resolution_status", string(f.ResolutionStatus))
	q.set("failure_reason", string(f.Reason))
	q.set("error_pattern", f.Fingerprint)
	q.set("failed_step", f.FailedStep)
	q.set("error_message", f.ErrorMessage)
	if f.Retryable != nil {
		q.set("retryable", strconv.FormatBool(*f.Retryable))
	}
	q.set("namespace", f.Namespace)
	q.set("task_type", f.TaskType)
	q.setTime("after", given(f.After))
	q.setTime("before", given(f.Before))
	q.setInt("limit", f.Limit)
	q.set("cursor", f.Cursor)
	return fetch[FailedTaskPage](ctx, b, call{verb: "list failed tasks", method: http.MethodGet, path: "/api/v1/dlq", query: url.Values(q)})
}

func (b *httpBackend) ReplayTask(ctx context.Context, task uuid.UUID, req ReplayRequest) (*Replay, error) {
	return fetch[Replay](ctx, b, call{verb: "replay task", method: http.MethodPost, path: "/api/v1/dlq/" + task.String() + "/replay", body: req})
}

func (b *httpBackend) FailureReport(ctx context.Context, namespace string) (*FailureReport, error) {
	q := make(query)
	q.set("namespace", namespace)
	return fetch[FailureReport](ctx, b, call{verb: "get failure report", method: http.MethodGet, path: "/api/v1/dlq/patterns", query: url.Values(q)})
}
