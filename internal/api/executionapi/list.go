package executionapi

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
)

// Bounds of one page. Filters without an index may match few tasks; without a bound one request would read them all.
const (
	maxPages   = 5
	maxSingles = 200
)

// Executions returns a page. CodeInvalid: a status that does not exist, or a limit beyond MaxPage.
func (p *Projection) Executions(ctx context.Context, f Filter) (*ExecutionPage, error) {
	for _, s := range f.Statuses {
		if err := knownStatus(s); err != nil {
			return nil, err
		}
	}
	f.Limit = cmp.Or(f.Limit, 50)
	if f.Limit < 0 || f.Limit > MaxPage {
		return nil, tasker.Errorf(tasker.CodeInvalid, "a page has 1 to %d executions", MaxPage)
	}
	page := &ExecutionPage{Executions: []ListedExecution{}}
	wanted := queueapi.QueueTaskFilter{Statuses: queueStatuses(f.Statuses), Namespace: f.Namespace, UserID: f.Initiator,
		CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore, Cursor: f.Cursor}
	if len(f.Statuses) > 0 && len(wanted.Statuses) == 0 {
		return page, nil // nothing is ever canceling
	}
	s := &search{p: p, f: f, singles: maxSingles}
	if strings.Contains(f.ActionRef, "*") {
		s.name = wildcard(f.ActionRef)
	} else {
		wanted.TaskType = f.ActionRef
	}
	for range maxPages {
		wanted.Limit = f.Limit - len(page.Executions)
		found, err := p.backend.QueueTasks(ctx, wanted)
		if err != nil {
			return nil, err
		}
		for i := range found.Tasks {
			t := &found.Tasks[i]
			matches, status, err := s.matches(ctx, t)
			if err != nil {
				return nil, err
			}
			if s.singles == 0 && i+1 < len(found.Tasks) { // the rest belongs to the next page
				found.NextCursor = t.TaskID.String()
			}
			if matches {
				page.Executions = append(page.Executions, listed(t, status))
			}
			if s.singles == 0 {
				break
			}
		}
		page.NextCursor, wanted.Cursor = found.NextCursor, found.NextCursor
		if found.NextCursor == "" || len(page.Executions) == f.Limit || s.singles == 0 {
			break
		}
	}
	return page, nil
}

type search struct {
	p       *Projection
	f       Filter
	name    *regexp.Regexp // nil: any
	singles int            // single tasks that may still be read
}

func (s *search) matches(ctx context.Context, t *queueapi.QueueListed) (bool, Status, error) {
	if s.name != nil && !s.name.MatchString(t.TaskType) {
		return false, "", nil
	}
	status := statusOf(t.Status, t.QueueScore != nil, "")
	searched := s.f.ResultContains != ""
	if failed(t.Status) || searched && t.Status == queueapi.QueueCompleted {
		s.singles--
		e, err := s.p.Execution(ctx, t.TaskID)
		if tasker.ErrorCode(err) == tasker.CodeNotFound {
			return false, "", nil // deleted meanwhile
		}
		if err != nil {
			return false, "", err
		}
		status = e.Status
		searched = searched && !strings.Contains(string(e.Result), s.f.ResultContains)
	}
	return !searched && (len(s.f.Statuses) == 0 || slices.Contains(s.f.Statuses, status)), status, nil
}

func wildcard(name string) *regexp.Regexp {
	parts := strings.Split(name, "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("^(?s:" + strings.Join(parts, ".*") + ")$")
}

func listed(t *queueapi.QueueListed, s Status) ListedExecution {
	return ListedExecution{ID: t.TaskID, ActionRef: t.TaskType, Namespace: t.Namespace, Status: s, State: t.State,
		Priority: t.Priority, Created: t.CreatedAt, StartedAt: t.StartedAt, FinishedAt: t.CompletedAt,
		RetryCount: t.RetryCount, MaxRetries: t.MaxRetries, NextRetryAt: t.NextRetryAt, IdempotencyKey: t.IdempotencyKey,
		CorrelationID: t.CorrelationID, Initiator: t.UserID, Damage: t.Damage}
}
