package cli

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/cli/bench"
)

func (s *session) printBench(r *bench.Report) error {
	if r.Dead != nil {
		return s.printDeadLetters(r)
	}
	nodes := ""
	if r.Nodes > 1 {
		nodes = fmt.Sprintf(" (%d nodes)", r.Nodes)
	}
	through := ""
	if r.Dispatch != "" {
		through = ", dispatched through " + r.Dispatch
	}
	if r.Transport != "" {
		through += ", to workers over " + r.Transport
	}
	if err := s.printf("%s via %s%s on %s%s: %d tasks of %d bytes, %d workers, %d producers\n\n",
		string(r.Mode), string(r.Via), nodes, r.DB, through, r.Tasks, r.PayloadBytes, r.Workers, r.Producers); err != nil {
		return err
	}
	show := map[bench.Mode]func(*bench.Report) error{bench.Throughput: s.printPhases,
		bench.Latency: s.printLatencies, bench.Intake: s.printIntake}[r.Mode]
	if err := show(r); err != nil {
		return err
	}
	// The run fails on an unsound ledger, so a printed one is sound.
	if l := r.Ledger; l != nil {
		if err := s.printf("\n%d tasks submitted, %d leases handed out, none twice; %d tasks settled, each once\n",
			l.Submitted, l.Leases, l.Settled); err != nil {
			return err
		}
	}
	return s.printf("\nlargest resident memory: %.0f MiB\n", float64(r.MaxRSSBytes)/(1<<20))
}

func (s *session) printPhases(r *bench.Report) error {
	t := s.newTable("PHASE", "TASKS/S", "SECONDS", "CPU PER TASK")
	phaseRow(t, "insert", r.Insert)
	phaseRow(t, "bulk insert", r.BulkInsert)
	phaseRow(t, "drain", r.Drain)
	phaseRow(t, "end to end", r.EndToEnd)
	return t.flush()
}

func phaseRow(t *table, name string, p *bench.Phase) {
	if p != nil {
		t.row(name, perSecond(p.PerSecond), fmt.Sprintf("%.2f", p.Seconds), fmt.Sprintf("%.1f µs", p.CPUPerTask))
	}
}

// Runs differ by more than decimals.
func perSecond(v float64) string { return fmt.Sprintf("%.0f", v) }

func (s *session) printLatencies(r *bench.Report) error {
	t := newLatencyTable(s)
	latencyRow(t, "submit", r.Submit)
	latencyRow(t, "submit to start", r.SubmitToStart)
	latencyRow(t, "workflow of 4 steps", r.Workflow)
	return t.flush()
}

func newLatencyTable(s *session) *table {
	return s.newTable("LATENCY", "P50", "P95", "P99", "MAX")
}

func latencyRow(t *table, name string, v *bench.Percentiles) {
	if v != nil {
		t.row(name, micros(v.P50), micros(v.P95), micros(v.P99), micros(v.Max))
	}
}

// micros formats microseconds as milliseconds, the common unit of latencies.
func micros(us int64) string { return fmt.Sprintf("%.2f ms", float64(us)/1000) }

func (s *session) printIntake(r *bench.Report) error {
	t := s.newTable("PHASE", "TASKS/S", "SECONDS", "CPU PER TASK")
	phaseRow(t, "intake", r.Intake)
	return t.flush()
}

func (s *session) printDeadLetters(r *bench.Report) error {
	l := r.Dead
	if err := s.printf("%d letters of %d causes on %s, payloads of %d bytes; %d of them sent back\n\n", l.Letters,
		l.Groups, r.DB, r.PayloadBytes, l.Redriven); err != nil {
		return err
	}
	t := s.newTable("PHASE", "LETTERS/S", "SECONDS", "CPU PER LETTER")
	phaseRow(t, "capture", l.Capture)
	phaseRow(t, "freeze", l.Freeze)
	phaseRow(t, "redrive", l.Redrive)
	if err := t.flush(); err != nil {
		return err
	}
	if err := s.printf("\none fingerprint: %.1f µs\n\n", l.FingerprintMicros); err != nil {
		return err
	}
	pages := s.newTable("PAGE", "P50", "P95", "P99", "MAX")
	for i := range l.Pages {
		latencyRow(pages, l.Pages[i].Name, &l.Pages[i].Percentiles)
	}
	if err := pages.flush(); err != nil {
		return err
	}
	return s.printf("\nlargest resident memory: %.0f MiB\n", float64(r.MaxRSSBytes)/(1<<20))
}
