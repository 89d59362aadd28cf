package cli

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/bench"
)

func (s *session) printCaseCosts(r *bench.Report) error {
	c := r.Cases
	t := newTable(s.Out, "MEASURE", "MEDIAN", "SLOWEST")
	timingRow(t, fmt.Sprintf("detection: %d stale of %d", c.PerRound, c.Live), c.Detect)
	timingRow(t, "detection: none stale", c.DetectNone)
	if err := t.flush(); err != nil {
		return err
	}
	if err := s.printf("\n"); err != nil {
		return err
	}
	t = newTable(s.Out, "PHASE", "TASKS/S", "SECONDS", "CPU PER TASK")
	phaseRow(t, "survey: once in a task's life", c.Survey)
	for _, p := range c.Producers {
		phaseRow(t, p.Reason, p.With)
		phaseRow(t, p.Reason+", without cases", p.Without)
	}
	phaseRow(t, "resolve, one a call", c.Resolve)
	if err := t.flush(); err != nil {
		return err
	}
	if err := s.printf("\n"); err != nil {
		return err
	}
	t = newTable(s.Out, fmt.Sprintf("QUESTION TO %d CASES", c.Cases), "MEDIAN", "SLOWEST")
	shown := c.Pages[:min(len(c.Pages), questionsShown)]
	for _, p := range shown {
		timingRow(t, p.Name, &p.Timing)
	}
	if err := t.flush(); err != nil {
		return err
	}
	return s.printf("these %d are the slowest of %d questions; --json has all\n", len(shown), len(c.Pages))
}

// questionsShown is how many questions people get to see.
const questionsShown = 20

func timingRow(t *table, name string, v *bench.Timing) {
	if v != nil {
		t.row(name, fmt.Sprintf("%.1f ms", v.MedianMS), fmt.Sprintf("%.1f ms", v.SlowestMS))
	}
}
