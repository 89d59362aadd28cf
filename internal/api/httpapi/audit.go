package httpapi

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

// AuditQuery holds the filters of every audit trail. It is exported for the same reason as TaskPath.
type AuditQuery struct {
	Actor   string    `query:"actor" maxLength:"255" doc:"Actor, as claimed."`
	KeyName string    `query:"key_name" maxLength:"255" doc:"Name of the API key of the request."`
	Kind    string    `query:"kind" maxLength:"64" pattern:"^[a-z_]*$" doc:"Kind of act, such as cancel or merge_groups."`
	After   time.Time `query:"after" doc:"Done at or after this time."`
	Before  time.Time `query:"before" doc:"Done before this time."`
	Limit   int       `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Below   int64     `query:"below" minimum:"1" doc:"Continue below this number: the smallest no of the previous page."`
}

// auditFilter is an operate.AuditFilter as a query.
type auditFilter struct {
	TaskUUID  uuid.UUID `query:"task_uuid" doc:"Task, including its steps and cases."`
	CaseUUID  uuid.UUID `query:"dlq_entry_uuid" doc:"Case."`
	WorkerID  uuid.UUID `query:"worker_id" doc:"Worker."`
	Namespace string    `query:"namespace" maxLength:"255" doc:"Namespace of the task or template."`
	Template  string    `query:"template" maxLength:"255" doc:"Name of the task (template or task type); includes registrations of the template."`
	AuditQuery
}

// taskAuditFilter is the query of the trail of a task.
type taskAuditFilter struct {
	TaskPath
	AuditQuery
}

// caseAuditFilter is the query of the trail of a case.
type caseAuditFilter struct {
	CasePath
	AuditQuery
}

// filter returns the filters that every audit trail has.
func (q *AuditQuery) filter() operate.AuditFilter {
	return operate.AuditFilter{
		Actor: q.Actor, KeyName: q.KeyName, Kind: q.Kind, After: q.After, Before: q.Before, Limit: q.Limit, Below: q.Below,
	}
}

// listAudit answers from the whole trail. A key limited to namespaces gets the acts on objects that are, or were, in
// one of them; acts on workers and keys are in no namespace.
func (s *server) listAudit(ctx context.Context, params *auditFilter,
	_ *endpoint.None,
) (endpoint.Answer[[]operate.AuditRecord], error) {
	var no endpoint.Answer[[]operate.AuditRecord]
	filter := params.filter()
	filter.TaskUUID, filter.CaseUUID, filter.WorkerID = params.TaskUUID, params.CaseUUID, params.WorkerID
	filter.Namespace, filter.Template = params.Namespace, params.Template
	// A trail of everything is limited by namespace. The trail of one object is limited by the object, which may have
	// left no row to join with; see auditOf.
	if filter.TaskUUID == uuid.Nil && filter.CaseUUID == uuid.Nil {
		var err error
		if filter.Namespace, err = endpoint.NarrowNamespace(ctx, filter.Namespace); err != nil {
			return no, err
		}
		records, err := s.backend.Audit(ctx, filter)
		return endpoint.OK(endpoint.List(records)), err
	}
	if filter.Namespace != "" {
		if err := endpoint.ReachNamespace(ctx, filter.Namespace, "query.namespace"); err != nil {
			return no, err
		}
	}
	records, err := s.auditOf(ctx, filter)
	return endpoint.OK(endpoint.List(records)), err
}

// auditOf returns the trail of a task or a case. Acts outlive both, so after a deletion the acts themselves show
// whether the key reaches them.
//
// The acts of an object that still exists are all shown: the key reaches the object. Those of one that is deleted are
// shown if their own namespace is reached; if none is, the answer is the same as for an object that never existed.
func (s *server) auditOf(ctx context.Context, filter operate.AuditFilter) ([]operate.AuditRecord, error) {
	gone, err := s.unreached(ctx, filter)
	if err != nil {
		return nil, err
	}
	records, err := s.backend.Audit(ctx, filter)
	if err != nil || gone == nil {
		return records, err
	}
	p := access.From(ctx)
	records = slices.DeleteFunc(records, func(r operate.AuditRecord) bool {
		return r.Namespace == "" || !p.Reaches(r.Namespace)
	})
	if len(records) == 0 {
		return nil, gone
	}
	return records, nil
}

// unreached returns in gone the error for a task or case out of the key's reach: in the same words, whether it does not
// exist or is outside the key's limits.
func (s *server) unreached(ctx context.Context, filter operate.AuditFilter) (gone, err error) {
	if !access.From(ctx).Limited() {
		return nil, nil
	}
	if id := filter.TaskUUID; id != uuid.Nil {
		_, err = s.backend.Task(ctx, id, 0)
	}
	if id := filter.CaseUUID; id != uuid.Nil && err == nil {
		_, err = s.backend.Case(ctx, id)
	}
	if tasker.ErrorCode(err) == tasker.CodeNotFound {
		return err, nil
	}
	return nil, err
}

// listTaskAudit serves GET /v1/tasks/{uuid}/audit. An unknown task is an error, not an empty trail.
func (s *server) listTaskAudit(ctx context.Context, params *taskAuditFilter,
	_ *endpoint.None,
) (endpoint.Answer[[]operate.AuditRecord], error) {
	var no endpoint.Answer[[]operate.AuditRecord]
	filter := params.filter()
	filter.TaskUUID = params.UUID
	records, err := s.auditOf(ctx, filter)
	if err != nil {
		return no, err
	}
	if len(records) == 0 {
		_, err = s.backend.Task(ctx, params.UUID, 0)
	}
	return endpoint.OK(endpoint.List(records)), err
}

// listCaseAudit serves GET /v1/dlq/entry/{dlq_entry_uuid}/audit. An unknown case is an error, too.
func (s *server) listCaseAudit(ctx context.Context, params *caseAuditFilter,
	_ *endpoint.None,
) (endpoint.Answer[[]operate.AuditRecord], error) {
	var no endpoint.Answer[[]operate.AuditRecord]
	filter := params.filter()
	filter.CaseUUID = params.UUID
	records, err := s.auditOf(ctx, filter)
	if err != nil {
		return no, err
	}
	if len(records) == 0 {
		_, err = s.backend.Case(ctx, params.UUID)
	}
	return endpoint.OK(endpoint.List(records)), err
}

// chainQuery is an operate.AuditChainFilter as a query.
type chainQuery struct {
	Above int64 `query:"above" minimum:"0" doc:"Continue above this seq: the last one of the previous page."`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size. A page may have fewer links; only the end has none."`
}

// auditChain answers with a page of the hash chain, from which a client computes every hash itself.
func (s *server) auditChain(ctx context.Context, params *chainQuery, _ *endpoint.None,
) (endpoint.Answer[*operate.AuditChain], error) {
	if err := wholeTrail(ctx); err != nil {
		return endpoint.Answer[*operate.AuditChain]{}, err
	}
	page, err := s.backend.AuditChain(ctx, operate.AuditChainFilter{Above: params.Above, Limit: params.Limit})
	return endpoint.OK(page), err
}

// looseQuery is the query of acts outside of the chain.
type looseQuery struct {
	Above int64 `query:"above" minimum:"0" doc:"Continue above this number: next of the previous page."`
}

// looseActs answers with acts that are in no link of the chain.
func (s *server) looseActs(ctx context.Context, params *looseQuery, _ *endpoint.None,
) (endpoint.Answer[*operate.LooseActs], error) {
	if err := wholeTrail(ctx); err != nil {
		return endpoint.Answer[*operate.LooseActs]{}, err
	}
	page, err := s.backend.LooseActs(ctx, params.Above)
	return endpoint.OK(page), err
}

// wholeTrail refuses a key limited to namespaces: the chain covers the acts of all of them.
func wholeTrail(ctx context.Context) error {
	p := access.From(ctx)
	if !p.Limited() {
		return nil
	}
	return endpoint.OutsideNamespaces(p, tasker.Detail{Message: "the chain covers the acts on all namespaces"})
}
