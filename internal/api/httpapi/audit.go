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

// AuditQuery has the filters of every audit trail. Exported for the same reason as TaskPath.
type AuditQuery struct {
	Actor   string    `query:"actor" maxLength:"255" doc:"Actor, as claimed."`
	KeyName string    `query:"key_name" maxLength:"255" doc:"Name of the API key of the request."`
	Kind    string    `query:"kind" maxLength:"64" pattern:"^[a-z_]*$" doc:"Kind of act, such as cancel or merge_groups."`
	After   time.Time `query:"after" doc:"Done at or after this time."`
	Before  time.Time `query:"before" doc:"Done before this time."`
	Limit   int       `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Below   int64     `query:"below" minimum:"1" doc:"Continue below this number: the smallest no of the previous page."`
}

type taskAuditFilter struct {
	TaskPath
	AuditQuery
}

type caseAuditFilter struct {
	CasePath
	AuditQuery
}

func (q *AuditQuery) filter() operate.AuditFilter {
	return operate.AuditFilter{
		Actor: q.Actor, KeyName: q.KeyName, Kind: q.Kind, After: q.After, Before: q.Before, Limit: q.Limit, Below: q.Below,
	}
}

// listAudit shows a limited key the acts on objects that are, or were, in its namespaces; acts on workers and keys have
// no namespace.
func (s *server) listAudit(ctx context.Context, filter *operate.AuditFilter, _ *endpoint.None,
) ([]operate.AuditRecord, error) {
	// Without an object, the namespace limits the trail. With one, auditOf checks the object, which may have no row
	// left.
	if filter.TaskUUID == uuid.Nil && filter.CaseUUID == uuid.Nil {
		return endpoint.Listed(endpoint.Narrowed(ctx, &filter.Namespace, s.backend.Audit, filter))
	}
	if filter.Namespace != "" {
		if err := endpoint.ReachNamespace(ctx, filter.Namespace, "query.namespace"); err != nil {
			return nil, err
		}
	}
	return endpoint.Listed(s.auditOf(ctx, *filter))
}

// auditOf returns the trail of a task or a case. A key that reaches the object sees all acts. After a deletion it sees
// the acts whose own namespace it reaches; without any, the answer equals that for an object that never existed.
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

// unreached returns in gone the error for a task or case out of the key's reach, the same for a missing object.
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

func (s *server) listTaskAudit(ctx context.Context, params *taskAuditFilter, _ *endpoint.None,
) ([]operate.AuditRecord, error) {
	filter := params.filter()
	filter.TaskUUID = params.UUID
	records, err := s.auditOf(ctx, filter)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		_, err = s.backend.Task(ctx, params.UUID, 0)
	}
	return endpoint.List(records), err
}

func (s *server) listCaseAudit(ctx context.Context, params *caseAuditFilter, _ *endpoint.None,
) ([]operate.AuditRecord, error) {
	filter := params.filter()
	filter.CaseUUID = params.UUID
	records, err := s.auditOf(ctx, filter)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		_, err = s.backend.Case(ctx, params.UUID)
	}
	return endpoint.List(records), err
}

func (s *server) auditChain(ctx context.Context, filter *operate.AuditChainFilter, _ *endpoint.None,
) (*operate.AuditChain, error) {
	if err := wholeTrail(ctx); err != nil {
		return nil, err
	}
	return s.backend.AuditChain(ctx, *filter)
}

type looseQuery struct {
	Above int64 `query:"above" minimum:"0" doc:"Continue above this number: next of the previous page."`
}

func (s *server) looseActs(ctx context.Context, params *looseQuery, _ *endpoint.None) (*operate.LooseActs, error) {
	if err := wholeTrail(ctx); err != nil {
		return nil, err
	}
	return s.backend.LooseActs(ctx, params.Above)
}

// wholeTrail refuses a key limited to namespaces: the chain covers all of them.
func wholeTrail(ctx context.Context) error {
	p := access.From(ctx)
	if !p.Limited() {
		return nil
	}
	return endpoint.OutsideNamespaces(p, tasker.Detail{Message: "the chain covers the acts on all namespaces"})
}
