package main

import "fmt"

func (p *page) cost(r *report) {
	p.row("LOAD", "CPU", "ALLOCATIONS", "BYTES", "WRITTEN", "STATEMENTS", "COMMITS", "TABLE", "INDEX", "WAL")
	for _, c := range r.Cost.Loads {
		cells := []string{c.Load, fmt.Sprintf("%.1f µs", c.CPU), fmt.Sprintf("%.1f", c.Allocs),
			fmt.Sprintf("%.0f", c.Bytes), fmt.Sprintf("%.0f", c.Written)}
		if d := c.DB; d != nil {
			cells = append(cells, amount(d.Statements), amount(d.Commits), amount(d.Table), amount(d.Index),
				fmt.Sprintf("%.0f", d.WALBytes))
		}
		p.row(cells...)
	}
	if r.Cost.Missing != "" {
		p.line("\n%s", r.Cost.Missing)
	}
}

func amount(n *float64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *n)
}
