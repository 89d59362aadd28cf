package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/operate"
)

// questionRounds counts the cold first query, too.
const questionRounds = 7

type question struct {
	name string
	ask  func(ctx context.Context) error
}

// pages measures queries with many cases and many live tasks, the slowest first in the report: it is the one to
// improve.
func (s *stage) pages(ctx context.Context, c *CasesReport) error {
	questions, err := s.questions(ctx)
	if err != nil {
		return err
	}
	for _, q := range questions {
		var took []time.Duration
		for range questionRounds {
			begin := time.Now()
			if err := q.ask(ctx); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			took = append(took, time.Since(begin))
		}
		c.Pages = append(c.Pages, CasePage{q.name, *timing(took)})
	}
	slices.SortStableFunc(c.Pages, func(a, b CasePage) int { return cmp.Compare(b.MedianMS, a.MedianMS) })
	return nil
}

// caseFilters match much, little or nothing: a query that finds nothing is often the slowest.
func (s *stage) caseFilters() map[string]operate.CaseFilter {
	recent, early := s.clock().Add(-3*time.Hour), s.clock().Add(-9*time.Hour)
	namespace, name := templateName(7)
	return map[string]operate.CaseFilter{
		"all":                    {},
		"pending":                {ResolutionStatus: tasker.CasePending},
		"cancelled":              {ResolutionStatus: tasker.CaseCancelled},
		"max_retries":            {Reason: tasker.ReasonMaxRetries},
		"manual":                 {Reason: tasker.ReasonManual},
		"cycle, resolved":        {Reason: tasker.ReasonCycle, ResolutionStatus: tasker.CaseManuallyResolved},
		"namespace":              {Namespace: namespace},
		"template":               {Namespace: namespace, TaskName: name},
		"template, cancelled":    {Namespace: namespace, TaskName: name, ResolutionStatus: tasker.CaseCancelled},
		"template without cases": {Namespace: "shop_0", TaskName: unused},
		"recent":                 {After: recent},
		"early":                  {Before: early},
		"recent, of no reason":   {After: recent, Reason: tasker.ReasonWorkerUnavailable},
		"early, pending, manual": {Before: early, Reason: tasker.ReasonManual, ResolutionStatus: tasker.CasePending},
		"namespace, recent":      {Namespace: namespace, After: recent},
		"pending without any":    {ResolutionStatus: tasker.CasePending, Namespace: "shop_0", TaskName: unused},
		"reason without any":     {Reason: tasker.ReasonMaxRetries, Namespace: "shop_0", TaskName: unused},
		"pending, 1,000 on it":   {ResolutionStatus: tasker.CasePending, Limit: bench.BulkSize},
		"template, 1,000 on it":  {Namespace: namespace, TaskName: name, Limit: bench.BulkSize},
		"everything about it set": {Namespace: namespace, TaskName: name, ResolutionStatus: tasker.CasePending,
			Reason: tasker.ReasonMaxRetries, After: early, Before: recent},
	}
}

// questions are all queries of lists, with the required number of rows.
func (s *stage) questions(ctx context.Context) ([]question, error) {
	var list []question
	for name, f := range s.caseFilters() {
		stats, err := operate.Of(s.client).CaseStats(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("stats of %s: %w", name, err)
		}
		list = append(list, question{"stats: " + name, func(ctx context.Context) error {
			_, err := operate.Of(s.client).CaseStats(ctx, f)
			return err
		}})
		matching, pending := 0, 0
		for _, st := range stats {
			matching += st.TotalEntries
			pending += st.Pending
		}
		list = append(list, s.depths("list: "+name, f, matching, s.listCases)...)
		list = append(list, s.depths("queue: "+name, f, pending, s.listQueue)...)
	}
	more, err := s.otherQuestions(ctx)
	slices.SortFunc(list, func(a, b question) int { return cmp.Compare(a.name, b.name) })
	return append(list, more...), err
}

func (s *stage) listCases(ctx context.Context, f operate.CaseFilter) (int, error) {
	page, err := operate.Of(s.client).Cases(ctx, f)
	return len(page), err
}

func (s *stage) listQueue(ctx context.Context, f operate.CaseFilter) (int, error) {
	page, err := operate.Of(s.client).InvestigationQueue(ctx, f)
	return len(page), err
}

// depths queries the first, a middle and the last page: an offset passes over everything before it.
func (s *stage) depths(name string, f operate.CaseFilter, matching int,
	list func(context.Context, operate.CaseFilter) (int, error),
) []question {
	if f.Limit == 0 {
		f.Limit = 50
	}
	var out []question
	offset := -1
	for _, depth := range []struct {
		name   string
		offset int
	}{{"first", 0}, {"middle", matching / 2}, {"last", matching - f.Limit}} {
		if depth.offset <= offset {
			continue // so few that it is the same page
		}
		offset = depth.offset
		f.Offset = offset
		at, want := f, min(f.Limit, matching-offset)
		out = append(out, question{name + ", " + depth.name, func(ctx context.Context) error {
			n, err := list(ctx, at)
			if err == nil && n != want {
				err = fmt.Errorf("%d on the page, not %d", n, want)
			}
			return err
		}})
	}
	return out
}

// otherQuestions are about staleness, single cases and acts.
func (s *stage) otherQuestions(ctx context.Context) ([]question, error) {
	page, err := operate.Of(s.client).Cases(ctx, operate.CaseFilter{Offset: 10})
	if err != nil {
		return nil, err
	}
	if len(page) == 0 {
		return nil, fmt.Errorf("there are no cases")
	}
	one := page[0]
	list := []question{
		{"case of a task", func(ctx context.Context) error {
			_, err := operate.Of(s.client).CaseOfTask(ctx, one.TaskUUID)
			return err
		}},
		{"census for metrics", func(ctx context.Context) error { _, err := s.backend.Census(ctx); return err }},
	}
	for name, f := range map[string]operate.StalenessFilter{"all": {}, "healthy": {Health: operate.Healthy},
		"warning": {Health: operate.Warning},
		"stale":   {Health: operate.Stale}, "template": {Namespace: one.Namespace, TaskName: one.TaskName},
		"template without tasks": {Namespace: "shop_0", TaskName: unused}} {
		list = append(list, question{"staleness: " + name, func(ctx context.Context) error {
			_, err := operate.Of(s.client).Staleness(ctx, f)
			return err
		}})
	}
	for name, f := range map[string]operate.AuditFilter{"all": {}, "case": {CaseUUID: one.CaseUUID},
		"task": {TaskUUID: one.TaskUUID}, "actor": {Actor: "bench"},
		"kind": {Kind: "open_case"}, "nobody": {Actor: "nobody"}, "recent": {After: s.clock().Add(-time.Hour)},
		"early": {Before: s.clock().Add(-9 * time.Hour)}} {
		list = append(list, question{"audit: " + name, func(ctx context.Context) error {
			_, err := operate.Of(s.client).Audit(ctx, f)
			return err
		}})
	}
	return list, nil
}
