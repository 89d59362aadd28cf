package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/cli/bench"
)

// CasesReport is the result of cases mode: the cost of searching stale tasks among many live ones, of opening a case in
// its transaction, and of lists of many cases.
type CasesReport struct {
	Live     int     `json:"live_tasks"`
	PerRound int     `json:"stale_tasks"` // found by one cycle
	Cases    int     `json:"cases"`       // in the lists
	FillS    float64 `json:"fill_s"`      // submitting the live tasks

	// Survey is the detector's cost for a live task, once in its life, at its first look.
	Survey     *bench.Phase `json:"survey"`
	Detect     *Timing      `json:"detection"`      // one cycle that finds all stale tasks
	DetectNone *Timing      `json:"detection_none"` // one cycle when there are none

	Producers []CaseCost   `json:"producers"`
	Resolve   *bench.Phase `json:"resolve"` // one case a call
	Pages     []CasePage   `json:"pages"`   // the slowest first
}

type Timing struct {
	MedianMS  float64 `json:"median_ms"`
	SlowestMS float64 `json:"slowest_ms"`
}

// timing sorts the calls; there must be one.
func timing(took []time.Duration) *Timing {
	slices.Sort(took)
	return &Timing{MedianMS: bench.Milliseconds(took[len(took)/2]), SlowestMS: bench.Milliseconds(took[len(took)-1])}
}

// CaseCost is the cost of one way to open cases for many tasks together. With minus Without is the price of a case.
type CaseCost struct {
	Reason string       `json:"dlq_reason"`
	Tasks  int          `json:"tasks"`
	With   *bench.Phase `json:"with_cases"`
	// Without is the same with cases switched off; nil if nothing is left then.
	Without *bench.Phase `json:"without_cases,omitempty"`
}

// CasePage is the time of a query about many cases.
type CasePage struct {
	Name string `json:"name"`
	Timing
}

const (
	// Fractions of the live tasks.
	casesShare    = 10   // of it as many cases
	producerShare = 100  // ... tasks for each way to open cases
	staleShare    = 1000 // ... tasks that are stale at a time
	// maxTogether bounds one cycle of the detector.
	maxTogether = 10_000

	detectRounds = 5
	noneRounds   = 4 // for each of detectRounds
)

// cases measures on an engine without background loops and with a manual clock: loops would do the measured work first.
// It fills the database step by step, so the order matters: detection among live tasks, then the ways to open cases,
// then lists of many cases.
func (r *run) cases(ctx context.Context) error {
	if err := r.tasker.Close(); err != nil {
		return err
	}
	n := r.opts.Tasks
	c := &CasesReport{Live: n, PerRound: n / staleShare}
	r.report.Cases = c
	s := newStage(r)
	if err := s.prepare(ctx); err != nil {
		return fmt.Errorf("store templates: %w", err)
	}
	if err := s.detection(ctx, c); err != nil {
		return fmt.Errorf("detection: %w", err)
	}
	if err := s.producers(ctx, c, min(n/producerShare, maxTogether)); err != nil {
		return fmt.Errorf("open cases: %w", err)
	}
	if err := s.archive(ctx, c, n/casesShare); err != nil {
		return fmt.Errorf("fill up cases: %w", err)
	}
	if err := s.pages(ctx, c); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	return s.close()
}

// detection fills in the live tasks, and measures cycles of the detector that must pass over them: with the expected
// stale tasks, and without any.
func (s *stage) detection(ctx context.Context, c *CasesReport) error {
	if err := s.open(ctx, withCases); err != nil {
		return err
	}
	begin := time.Now()
	// They arrive over some minutes, and may live for a day.
	if _, err := s.submit(ctx, living, c.Live-detectRounds*c.PerRound, arrivals); err != nil {
		return err
	}
	var came []time.Time
	for range detectRounds {
		if _, err := s.submit(ctx, dying, c.PerRound, 0); err != nil {
			return err
		}
		came = append(came, s.clock())
		s.pass(20 * time.Second)
	}
	c.FillS = bench.Round3(time.Since(begin).Seconds())
	s.pass(lookedAt)
	var err error
	if c.Survey, err = s.survey(ctx, c.Live); err != nil {
		return err
	}
	var some, none []time.Duration
	for _, at := range came {
		s.passUntil(at.Add(threshold - time.Second))
		// A second before the threshold nothing is stale; a second after it one portion is.
		for range noneRounds {
			if none, err = s.detect(ctx, 0, none); err != nil {
				return err
			}
		}
		s.passUntil(at.Add(threshold + time.Second))
		if some, err = s.detect(ctx, c.PerRound, some); err != nil {
			return err
		}
	}
	c.Detect, c.DetectNone = timing(some), timing(none)
	return nil
}
