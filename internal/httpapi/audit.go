package httpapi

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/access"
)

// AuditQuery is what every audit trail may be narrowed by. It is exported for
// the reason that TaskPath is.
type AuditQuery struct {
	Actor  string    `query:"actor" maxLength:"255" doc:"Who did it."`
	Kind   string    `query:"kind" enum:"cancel,reset_for_retry,resolve_manually,complete_manually,open_case,update_case,reopen_case,replay,replay_step,edit_context"`
	After  time.Time `query:"after" doc:"Done at this time or later."`
	Before time.Time `query:"before" doc:"Done before."`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Below  int64     `query:"below" minimum:"1" doc:"Continue below this number: the smallest no of the page before."`
}

// auditFilter is a tasker.AuditFilter as a query.
type auditFilter struct {
	TaskUUID uuid.UUID `query:"task_uuid" doc:"Only acts on this task, its steps and its cases."`
	CaseUUID uuid.UUID `query:"dlq_entry_uuid" doc:"Only acts on this case."`
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

func (q *AuditQuery) filter() tasker.AuditFilter {
	return tasker.AuditFilter{
		Actor: q.Actor, Kind: q.Kind, After: q.After, Before: q.Before, Limit: q.Limit, Below: q.Below,
	}
}

// listAudit answers from the whole trail. An act has no namespace of its own, so
// a limited key has to name what it reaches.
func (s *server) listAudit(ctx context.Context, params *auditFilter, _ *none) (answer[[]tasker.AuditRecord], error) {
	var no answer[[]tasker.AuditRecord]
	filter := params.filter()
	filter.TaskUUID, filter.CaseUUID = params.TaskUUID, params.CaseUUID
	p := access.From(ctx)
	if p.Limited() && filter.TaskUUID == uuid.Nil && filter.CaseUUID == uuid.Nil {
		return no, outside(p, tasker.Detail{Location: "query.task_uuid", Message: "the whole trail is of all namespaces: name a task or a case"})
	}
	if filter.TaskUUID != uuid.Nil {
		if err := s.reachTask(ctx, filter.TaskUUID); err != nil {
			return no, err
		}
	}
	if filter.CaseUUID != uuid.Nil {
		if err := s.reachCase(ctx, filter.CaseUUID); err != nil {
			return no, err
		}
	}
	records, err := s.backend.Audit(ctx, filter)
	return ok(list(records)), err
}

// listTaskAudit is the trail of one task. That there is no such task is no empty
// trail.
func (s *server) listTaskAudit(ctx context.Context, params *taskAuditFilter, _ *none) (answer[[]tasker.AuditRecord], error) {
	var no answer[[]tasker.AuditRecord]
	if err := s.reachTask(ctx, params.UUID); err != nil {
		return no, err
	}
	filter := params.filter()
	filter.TaskUUID = params.UUID
	records, err := s.backend.Audit(ctx, filter)
	if err != nil {
		return no, err
	}
	if len(records) == 0 {
		_, err = s.backend.Task(ctx, params.UUID, 0)
	}
	return ok(list(records)), err
}

// listCaseAudit is the trail of one case.
func (s *server) listCaseAudit(ctx context.Context, params *caseAuditFilter, _ *none) (answer[[]tasker.AuditRecord], error) {
	var no answer[[]tasker.AuditRecord]
	if err := s.reachCase(ctx, params.UUID); err != nil {
		return no, err
	}
	filter := params.filter()
	filter.CaseUUID = params.UUID
	records, err := s.backend.Audit(ctx, filter)
	if err != nil {
		return no, err
	}
	if finder, can := s.backend.(caseFinder); can && len(records) == 0 {
		_, err = finder.Case(ctx, params.UUID)
	}
	return ok(list(records)), err
}
