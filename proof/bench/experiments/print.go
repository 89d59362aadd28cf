package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/taskerhq/tasker/internal/cli/bench"
)

type page struct{ w *tabwriter.Writer }

func (p *page) row(cells ...string) { p.line("%s", strings.Join(cells, "\t")) }

func (p *page) line(format string, args ...any) { _, _ = fmt.Fprintf(p.w, format+"\n", args...) }

func (r *report) write(out io.Writer) error {
	p := &page{tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)}
	through := ""
	if r.Dispatch != "" {
		through = ", dispatched through " + r.Dispatch
	}
	p.line("%s via %s on %s%s: %d tasks of %d bytes, %d workers, %d producers, %d nodes\n",
		r.Mode, r.Via, r.DB, through, r.Tasks, r.PayloadBytes, r.Workers, r.Producers, r.Nodes)
	map[mode]func(*report){depth: p.depth, pinned: p.pinned, cases: p.caseCosts, workers: p.fleet, cost: p.cost}[r.Mode](r)
	p.line("\nlargest resident memory: %.0f MiB", float64(r.MaxRSSBytes)/(1<<20))
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

func (p *page) phase(name string, v *bench.Phase) {
	if v != nil {
		p.row(name, fmt.Sprintf("%.0f", v.PerSecond), fmt.Sprintf("%.2f", v.Seconds), fmt.Sprintf("%.1f µs", v.CPUPerTask))
	}
}

func (p *page) latency(name string, v *bench.Percentiles) {
	if v != nil {
		p.row(name, micros(v.P50), micros(v.P95), micros(v.P99), micros(v.Max))
	}
}

func micros(us int64) string { return fmt.Sprintf("%.2f ms", float64(us)/1000) }

func (p *page) pinned(r *report) {
	p.row("PHASE", "TASKS/S", "SECONDS", "CPU PER TASK")
	p.phase("end to end", r.Pinned.EndToEnd)
	tenths := make([]string, len(r.Pinned.PerSecond))
	for i, v := range r.Pinned.PerSecond {
		tenths[i] = fmt.Sprintf("%.0f", v)
	}
	p.line("\ntasks/s of each tenth: %s\nfirst %.1f s: %.0f/s, last: %.0f/s, last to first: %.2f\ntransactions since the "+
		"snapshot that was held: %d",
		strings.Join(tenths, " "), r.Pinned.SpanS, r.Pinned.First, r.Pinned.Last, r.Pinned.Ratio, r.Pinned.HeldBack)
}

func (p *page) depth(r *report) {
	d := r.Depth
	p.row("MEASURE", "VALUE")
	p.row("finished, queued", fmt.Sprintf("%d, %d", d.Finished, d.Queued))
	p.row("to fill it", fmt.Sprintf("%.1f s", d.FillS))
	p.row("start-up", fmt.Sprintf("%.1f ms", d.StartUpMS))
	p.row("claims of the long queue", fmt.Sprintf("%.0f/s", d.ClaimsPerSecond))
	p.row("claims of 1,000", fmt.Sprintf("%.0f/s", d.ClaimsShort))
	for _, name := range slices.Sorted(maps.Keys(d.PagesMS)) {
		p.row("slowest page: "+name, fmt.Sprintf("%.1f ms", d.PagesMS[name]))
	}
	p.line("")
	p.row("LATENCY", "P50", "P95", "P99", "MAX")
	p.latency("claim of one", d.ClaimOne)
	p.latency("claim of a hundred", d.ClaimMany)
}
