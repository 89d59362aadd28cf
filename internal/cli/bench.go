package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/bench"
	"github.com/taskerhq/tasker/internal/config"
)

func newBench(s *session) *cobra.Command {
	var opts bench.Options
	var via, mode string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what Tasker does on this machine",
		Long: `Measure what Tasker does on this machine with durable settings: tasks per second
in, through and out; how long an idle system takes from submission to start; or
what a long queue costs (start-up, claims, lists).`,
		Example: `  tasker bench
  tasker bench --db sqlite:bench.db --producers 256 --via http --json
  tasker bench --mode latency`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&opts.DB, "db", "", "database to measure on; its tasks stay in it (default a temporary one in this directory)")
	f.IntVar(&opts.Tasks, "tasks", 0, "tasks of each phase (default 20000; latency 300, depth 1000000)")
	f.IntVar(&opts.Workers, "workers", 100, "steps that run at once")
	f.IntVar(&opts.Producers, "producers", 16, "callers that submit one task a call")
	f.IntVar(&opts.PayloadBytes, "payload", 100, "bytes of a task's context")
	f.StringVar(&via, "via", string(bench.InProcess), "inproc: engine in this process; http: server in another process")
	f.StringVar(&mode, "mode", string(bench.Throughput), "throughput, latency or depth")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		opts.Via, opts.Mode = bench.Via(via), bench.Mode(mode)
		if err := checkBench(&opts); err != nil {
			return err
		}
		return s.bench(cmd.Context(), opts)
	}
	return cmd
}

// checkBench refuses what cannot be measured before a database is made for it.
func checkBench(opts *bench.Options) error {
	switch {
	case opts.Via != bench.InProcess && opts.Via != bench.ViaHTTP:
		return usagef("--via must be inproc or http, not %q", string(opts.Via))
	case opts.Mode != bench.Throughput && opts.Mode != bench.Latency && opts.Mode != bench.Depth:
		return usagef("--mode must be throughput, latency or depth, not %q", string(opts.Mode))
	case opts.Tasks < 0:
		return usagef("--tasks must not be negative")
	case opts.Workers < 1 || opts.Producers < 1:
		return usagef("--workers and --producers must be positive")
	case opts.PayloadBytes < 2:
		return usagef("--payload must be at least 2, the shortest JSON text")
	}
	if opts.DB != "" {
		if _, err := config.ParseDSN(opts.DB); err != nil {
			return usagef("--db: %w", err)
		}
	}
	return nil
}

func (s *session) bench(ctx context.Context, opts bench.Options) error {
	if opts.DB == "" {
		// Not in the system's temporary directory, which is often kept in memory:
		// what is durable there says nothing.
		dir, err := os.MkdirTemp(".", ".tasker-bench-")
		if err != nil {
			return fmt.Errorf("make directory of the database: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		opts.DB = "sqlite:" + filepath.Join(dir, "bench.db")
	}
	if opts.Via == bench.ViaHTTP {
		exe, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the program that serves: %w", err)
		}
		opts.Executable = exe
	}
	report, err := bench.Run(ctx, opts)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSONLine(report)
	}
	return s.printReport(&report)
}

// printReport shows a report to people.
func (s *session) printReport(r *bench.Report) error {
	if err := s.printf("%s via %s on %s: %d tasks of %d bytes, %d workers, %d producers\n\n",
		string(r.Mode), string(r.Via), config.RedactDSN(r.DB), r.Tasks, r.PayloadBytes, r.Workers, r.Producers); err != nil {
		return err
	}
	show := s.printPhases
	switch r.Mode {
	case bench.Latency:
		show = s.printLatencies
	case bench.Depth:
		show = s.printDepth
	}
	if err := show(r); err != nil {
		return err
	}
	return s.printf("\nlargest resident memory: %.0f MiB\n", float64(r.MaxRSSBytes)/(1<<20))
}

func (s *session) printPhases(r *bench.Report) error {
	t := newTable(s.Out, "PHASE", "TASKS/S", "SECONDS", "CPU PER TASK")
	for _, p := range []struct {
		name  string
		phase *bench.Phase
	}{{"insert", r.Insert}, {"bulk insert", r.BulkInsert}, {"drain", r.Drain}, {"end to end", r.EndToEnd}} {
		if p.phase != nil {
			t.row(p.name, fmt.Sprintf("%.0f", p.phase.PerSecond), fmt.Sprintf("%.2f", p.phase.Seconds), fmt.Sprintf("%.1f µs", p.phase.CPUPerTask))
		}
	}
	return t.flush()
}

func (s *session) printDepth(r *bench.Report) error {
	t := newTable(s.Out, "MEASURE", "VALUE")
	t.row("start-up", fmt.Sprintf("%.1f ms", r.Depth.StartUpMS))
	t.row("claims of the long queue", fmt.Sprintf("%.0f/s", r.Depth.ClaimsPerSecond))
	t.row("claims of 1,000", fmt.Sprintf("%.0f/s", r.Depth.ClaimsShort))
	for _, name := range slices.Sorted(maps.Keys(r.Depth.PagesMS)) {
		t.row("slowest page: "+name, fmt.Sprintf("%.1f ms", r.Depth.PagesMS[name]))
	}
	return t.flush()
}

func (s *session) printLatencies(r *bench.Report) error {
	t := newTable(s.Out, "LATENCY", "P50", "P95", "P99", "MAX")
	for _, p := range []struct {
		name string
		v    *bench.Percentiles
	}{{"submit", r.Submit}, {"submit to start", r.SubmitToStart}, {"workflow of 4 steps", r.Workflow}} {
		if p.v != nil {
			t.row(p.name, micros(p.v.P50), micros(p.v.P95), micros(p.v.P99), micros(p.v.Max))
		}
	}
	return t.flush()
}

func micros(us int64) string { return fmt.Sprintf("%.2f ms", float64(us)/1000) }
