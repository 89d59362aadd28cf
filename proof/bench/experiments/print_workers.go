package main

import "fmt"

func (p *page) fleet(r *report) {
	w, idle := r.Fleet, r.Fleet.Idle
	p.row("IDLE WORKERS", "VALUE")
	p.row("to register them", fmt.Sprintf("%.1f s", idle.RegisterS))
	p.row("watched for", fmt.Sprintf("%.0f s", idle.WindowS))
	p.row("polls, heartbeats", fmt.Sprintf("%d, %d", idle.Polls, idle.Heartbeats))
	p.row("cores used, by all", fmt.Sprintf("%.3f", idle.Cores))
	if idle.Servers != nil {
		p.row("cores used, by servers and database", fmt.Sprintf("%.3f", *idle.Servers))
	}
	p.line("")
	p.row(fmt.Sprintf("CLAIM ON ONE OF %d ROUTES", w.Sets), "QUEUED ON THE OTHERS", "P50", "P50 OF THE BEST ROUND", "CPU")
	row := func(batch, queued int, c *ClaimCost) {
		p.row(fmt.Sprintf("of %d", batch), fmt.Sprint(queued), fmt.Sprintf("%.0f µs", c.P50US),
			fmt.Sprintf("%.0f µs", c.BestUS), fmt.Sprintf("%.0f µs", c.CPUUS))
	}
	for _, c := range w.Claims {
		row(c.Batch, 0, c.Alone)
		row(c.Batch, w.Queued, c.Among)
	}
}
