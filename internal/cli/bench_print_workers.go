package cli

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/bench"
)

func (s *session) printFleet(r *bench.Report) error {
	w, idle := r.Fleet, r.Fleet.Idle
	t := newTable(s.Out, "IDLE WORKERS", "VALUE")
	t.row("to register them", fmt.Sprintf("%.1f s", idle.RegisterS))
	t.row("watched for", fmt.Sprintf("%.0f s", idle.WindowS))
	t.row("polls, heartbeats", fmt.Sprintf("%d, %d", idle.Polls, idle.Heartbeats))
	t.row("cores used, by all", fmt.Sprintf("%.3f", idle.Cores))
	if idle.Servers != nil {
		t.row("cores used, by servers and database", fmt.Sprintf("%.3f", *idle.Servers))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := s.printf("\n"); err != nil {
		return err
	}
	t = newTable(s.Out, fmt.Sprintf("CLAIM ON ONE OF %d ROUTES", w.Sets), "QUEUED ON THE OTHERS", "P50", "P50 OF THE BEST ROUND", "CPU")
	row := func(batch, queued int, c *bench.ClaimCost) {
		t.row(fmt.Sprintf("of %d", batch), fmt.Sprint(queued), fmt.Sprintf("%.0f µs", c.P50US), fmt.Sprintf("%.0f µs", c.BestUS), fmt.Sprintf("%.0f µs", c.CPUUS))
	}
	for _, c := range w.Claims {
		row(c.Batch, 0, c.Alone)
		row(c.Batch, w.Queued, c.Among)
	}
	return t.flush()
}
