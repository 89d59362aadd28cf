package operate

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// server is a Backend over HTTP. Its requests go through Client.Call, which bounds and authenticates them.
type server struct{ client *tasker.Client }

// Cases implements CaseBackend.
func (s server) Cases(ctx context.Context, f CaseFilter) ([]Case, error) {
	return fetchList[Case](ctx, s.client, "list cases", "/v1/dlq", query.Of(f))
}

// CaseOfTask implements CaseBackend.
func (s server) CaseOfTask(ctx context.Context, task uuid.UUID) (*Case, error) {
	return query.Ask[Case](ctx, s.client, tasker.Request{Verb: "get case", Method: http.MethodGet,
		Path: "/v1/dlq/task/" + task.String()})
}

// OpenCase implements CaseBackend. After a lost response, a second call gets CodeConflict if
// the first was stored.
func (s server) OpenCase(ctx context.Context, task uuid.UUID, req OpenCaseRequest) (*Case, error) {
	return query.Ask[Case](ctx, s.client, tasker.Request{Verb: "open case", Method: http.MethodPost,
		Path: "/v1/dlq/task/" + task.String(), Body: req})
}

// UpdateCase implements CaseBackend. Set IfMatch to repeat an update safely.
func (s server) UpdateCase(ctx context.Context, id uuid.UUID, update CaseUpdate) (*CaseUpdated, error) {
	return query.Ask[CaseUpdated](ctx, s.client, tasker.Request{Verb: "update case", Method: http.MethodPatch,
		Path: "/v1/dlq/entry/" + id.String(), Body: update})
}

// UpdateCases implements CaseBackend.
func (s server) UpdateCases(ctx context.Context, req BulkCaseUpdate) (*BulkResult, error) {
	return query.Ask[BulkResult](ctx, s.client, tasker.Request{Verb: "update cases", Method: http.MethodPost,
		Path: "/v1/dlq/update", Body: req})
}

// ActOnCases implements CaseBackend.
func (s server) ActOnCases(ctx context.Context, req BulkStepAction) (*BulkResult, error) {
	return query.Ask[BulkResult](ctx, s.client, tasker.Request{Verb: "act on cases", Method: http.MethodPost,
		Path: "/v1/dlq/act", Body: req})
}

// CaseStats implements CaseBackend. It drops the page of the filter, which the server would refuse.
func (s server) CaseStats(ctx context.Context, f CaseFilter) ([]CaseStats, error) {
	f.Limit, f.Offset = 0, 0 // counts have no pages
	return fetchList[CaseStats](ctx, s.client, "count cases", "/v1/dlq/stats", query.Of(f))
}

// InvestigationQueue implements CaseBackend.
func (s server) InvestigationQueue(ctx context.Context, f CaseFilter) ([]QueuedCase, error) {
	return fetchList[QueuedCase](ctx, s.client, "get investigation queue", "/v1/dlq/investigation-queue", query.Of(f))
}

// Staleness implements FailureBackend.
func (s server) Staleness(ctx context.Context, f StalenessFilter) ([]StaleTask, error) {
	return fetchList[StaleTask](ctx, s.client, "get staleness", "/v1/dlq/staleness", query.Of(f))
}

// DetectStaleness implements FailureBackend.
func (s server) DetectStaleness(ctx context.Context, req DetectRequest) ([]Detection, error) {
	return query.List[Detection](ctx, s.client, tasker.Request{Verb: "detect staleness", Method: http.MethodPost,
		Path: "/v1/dlq/staleness/detect", Body: req})
}

// Audit implements Backend.
func (s server) Audit(ctx context.Context, f AuditFilter) ([]AuditRecord, error) {
	return fetchList[AuditRecord](ctx, s.client, "get audit trail", "/v1/audit", query.Of(f))
}

// AuditChain implements ChainBackend.
func (s server) AuditChain(ctx context.Context, f AuditChainFilter) (*AuditChain, error) {
	return query.Ask[AuditChain](ctx, s.client, tasker.Request{Verb: "get audit chain", Method: http.MethodGet,
		Path: "/v1/audit/chain", Query: url.Values(query.Of(f))})
}

// LooseActs implements ChainBackend.
func (s server) LooseActs(ctx context.Context, above int64) (*LooseActs, error) {
	q := query.Values{}
	q.SetInt("above", int(above))
	return query.Ask[LooseActs](ctx, s.client, tasker.Request{Verb: "get loose acts", Method: http.MethodGet,
		Path: "/v1/audit/loose", Query: url.Values(q)})
}

func fetchList[T any](ctx context.Context, c *tasker.Client, verb, path string, q query.Values) ([]T, error) {
	return query.List[T](ctx, c, tasker.Request{Verb: verb, Method: http.MethodGet, Path: path, Query: url.Values(q)})
}

// FailedTasks implements FailureBackend. This and the next two are routes of the queue API.
func (s server) FailedTasks(ctx context.Context, f FailedTaskFilter) (*FailedTaskPage, error) {
	return query.Ask[FailedTaskPage](ctx, s.client, tasker.Request{Verb: "list failed tasks", Method: http.MethodGet,
		Path: "/api/v1/dlq", Query: url.Values(query.Of(f))})
}

// ReplayTask implements FailureBackend. A second call after a lost response gets CodeWrongState
// if the first was done.
func (s server) ReplayTask(ctx context.Context, task uuid.UUID, req ReplayRequest) (*Replay, error) {
	return query.Ask[Replay](ctx, s.client, tasker.Request{Verb: "replay task", Method: http.MethodPost,
		Path: "/api/v1/dlq/" + task.String() + "/replay", Body: req})
}

// FailureReport implements FailureBackend.
func (s server) FailureReport(ctx context.Context, namespace string) (*FailureReport, error) {
	q := query.Values{}
	q.Set("namespace", namespace)
	return query.Ask[FailureReport](ctx, s.client, tasker.Request{Verb: "get failure report", Method: http.MethodGet,
		Path: "/api/v1/dlq/patterns", Query: url.Values(q)})
}
