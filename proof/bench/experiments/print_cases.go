package main

import "fmt"

func (p *page) caseCosts(r *report) {
	c := r.Cases
	p.row("MEASURE", "MEDIAN", "SLOWEST")
	p.timing(fmt.Sprintf("detection: %d stale of %d", c.PerRound, c.Live), c.Detect)
	p.timing("detection: none stale", c.DetectNone)
	p.line("")
	p.row("PHASE", "TASKS/S", "SECONDS", "CPU PER TASK")
	p.phase("survey: once in a task's life", c.Survey)
	for _, way := range c.Producers {
		p.phase(way.Reason, way.With)
		p.phase(way.Reason+", without cases", way.Without)
	}
	p.phase("resolve, one a call", c.Resolve)
	p.line("")
	p.row(fmt.Sprintf("QUESTION TO %d CASES", c.Cases), "MEDIAN", "SLOWEST")
	shown := c.Pages[:min(len(c.Pages), questionsShown)]
	for _, question := range shown {
		p.timing(question.Name, &question.Timing)
	}
	p.line("these %d are the slowest of %d questions; -json has all", len(shown), len(c.Pages))
}

// questionsShown bounds the printed queries.
const questionsShown = 20

func (p *page) timing(name string, v *Timing) {
	if v != nil {
		p.row(name, fmt.Sprintf("%.1f ms", v.MedianMS), fmt.Sprintf("%.1f ms", v.SlowestMS))
	}
}
