package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/operate"
)

// archivePortions are an hour apart.
const archivePortions = 9

// archive fills up the cases to a number, over some hours, and resolves most of them: a list of simultaneous pending
// cases would be faster than a real one.
func (s *stage) archive(ctx context.Context, c *CasesReport, total int) error {
	stats, err := operate.Of(s.client).CaseStats(ctx, operate.CaseFilter{})
	if err != nil {
		return err
	}
	missing := max(total-totalOf(stats), 0)
	for i := range archivePortions {
		if n := missing*(i+1)/archivePortions - missing*i/archivePortions; n > 0 {
			if _, err := s.exhaust(ctx, n); err != nil {
				return err
			}
		}
		s.pass(time.Hour)
	}
	ids, err := s.allCases(ctx)
	if err != nil {
		return err
	}
	c.Cases = len(ids)
	if c.Resolve, err = s.resolve(ctx, ids); err != nil {
		return err
	}
	// The detector's work of those hours.
	if _, err = s.survey(ctx, total+c.Live/producerShare*len(c.Producers)); err != nil {
		return err
	}
	return s.tidy(ctx)
}

func totalOf(stats []operate.CaseStats) int {
	n := 0
	for _, st := range stats {
		n += st.TotalEntries
	}
	return n
}

func (s *stage) allCases(ctx context.Context) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	for {
		page, err := operate.Of(s.client).Cases(ctx, operate.CaseFilter{Limit: bench.BulkSize, Offset: len(ids)})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return ids, nil
		}
		for _, c := range page {
			ids = append(ids, c.CaseUUID)
		}
	}
}

var resolutions = [10]tasker.CaseResolution{tasker.CasePending, tasker.CaseManuallyResolved,
	tasker.CaseManuallyResolved, tasker.CasePending,
	tasker.CasePermanentlyFailed, tasker.CaseManuallyResolved, tasker.CasePending, tasker.CasePermanentlyFailed,
	tasker.CaseCancelled, tasker.CaseManuallyResolved}

// resolve resolves most of the cases, one a call. The phase counts those.
func (s *stage) resolve(ctx context.Context, all []uuid.UUID) (*bench.Phase, error) {
	var ids []uuid.UUID
	var to []tasker.CaseResolution
	for i, id := range all {
		// Different within a template.
		if r := resolutions[(i+i/caseTemplates)%len(resolutions)]; r != tasker.CasePending {
			ids, to = append(ids, id), append(to, r)
		}
	}
	notes := "the card was replaced; the order went through"
	return s.run.load.Measure(len(ids), func() error {
		return s.each(ctx, ids, func(ctx context.Context, i int, id uuid.UUID) error {
			_, err := operate.Of(s.client).UpdateCase(ctx, id,
				operate.CaseUpdate{ResolutionStatus: to[i], ResolutionNotes: &notes, ResolvedBy: "bench",
					Metadata: json.RawMessage(fmt.Sprintf(`{"ticket":%d}`, i))})
			return err
		})
	})
}
