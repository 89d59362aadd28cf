package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/bench"
	"github.com/taskerhq/tasker/internal/config"
)

func newBench(s *session) *cobra.Command {
	var opts bench.Options
	var via, mode, svg string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what Tasker does on this machine",
		Long: `Measure what Tasker does on this machine with durable settings. --mode says what:

  throughput  tasks per second in, through and out
  latency     how long an idle system takes from submission to start
  depth       what a long queue costs (start-up, claims, lists), and on PostgreSQL
              a long history: --finished
  cases       what it costs to find stale tasks among many live ones, to open
              cases, and to ask for them; --tasks are the live tasks, of which
              one in 1,000 is stale, and one in ten has a case
  workers     what --workers that have nothing to do cost while they poll and send
              heartbeats, for --window; and whether claims on one of 100 routes
              depend on --tasks that wait on the other 99
  starvation  how long low priorities wait in each mode of scheduling while high
              ones saturate the workers; simulated, in memory and in no time.
              --svg draws it
  pinned      how throughput holds up on PostgreSQL while a snapshot from before
              the first task stays open, so that nothing can be vacuumed

With --via http callers and workers are in this process and the engine is in
another; --nodes runs several of those on one PostgreSQL, spreads callers and
workers over them, and fails if a lease was handed out twice or a task was not
settled exactly once.

On PostgreSQL a schema is made for the run and dropped after it, unless the DSN
names one (schema=NAME).`,
		Example: `  tasker bench
  tasker bench --db sqlite:bench.db --producers 256 --via http --json
  tasker bench --db postgres://tasker@localhost/bench --via http --nodes 3
  tasker bench --mode latency`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&opts.Dispatch, "dispatch", "", "dispatch through a Redis, redis://HOST:PORT, instead of the database")
	f.StringVar(&opts.DB, "db", "", "database to measure on; tasks stay in a SQLite file or a schema that is named (default a temporary file in this directory)")
	f.IntVar(&opts.Tasks, "tasks", 0, "tasks of each phase (default 20000; latency 300, depth and cases 1000000, pinned 500000, workers 990000)")
	f.IntVar(&opts.Finished, "finished", 0, "finished tasks that depth begins with; PostgreSQL only")
	f.IntVar(&opts.Workers, "workers", 0, "steps that run at once (default 100); in mode workers how many there are (default 10000)")
	f.DurationVar(&opts.Window, "window", time.Minute, "how long mode workers watches them")
	f.IntVar(&opts.Producers, "producers", 16, "callers that submit one task a call")
	f.IntVar(&opts.PayloadBytes, "payload", 100, "bytes of a task's context")
	f.StringVar(&via, "via", string(bench.InProcess), "inproc: engine in this process; http: server in another process")
	f.IntVar(&opts.Nodes, "nodes", 1, "servers that share the database; more than one need --via http and PostgreSQL")
	f.StringVar(&mode, "mode", string(bench.Throughput), "throughput, latency, depth, cases, workers, starvation or pinned")
	f.StringVar(&svg, "svg", "", "file to draw the result of --mode starvation into")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if mode == starvationMode {
			return s.starvation(cmd.Context(), svg)
		}
		if svg != "" {
			return usagef("--svg is for --mode %s", starvationMode)
		}
		opts.Via, opts.Mode = bench.Via(via), bench.Mode(mode)
		if err := checkBench(cmd, &opts); err != nil {
			return err
		}
		return s.bench(cmd.Context(), opts)
	}
	return cmd
}

// checkBench refuses what cannot be measured before a database is made for it.
func checkBench(cmd *cobra.Command, opts *bench.Options) error {
	// A number that was not given takes its default; one that was is meant.
	for flag, v := range map[string]int{"tasks": opts.Tasks, "workers": opts.Workers, "producers": opts.Producers, "nodes": opts.Nodes, "payload": opts.PayloadBytes} {
		if v == 0 && cmd.Flags().Changed(flag) {
			return usagef("--%s must not be 0", flag)
		}
	}
	if opts.DB != "" {
		if _, err := config.ParseDSN(opts.DB); err != nil {
			return usagef("--db: %w", err)
		}
	}
	if opts.Dispatch != "" {
		if err := config.CheckDispatch(opts.Dispatch); err != nil || opts.Dispatch == config.DispatchNative {
			return usagef("--dispatch must name a Redis, such as redis://127.0.0.1:6379")
		}
	}
	if err := opts.Validate(); err != nil {
		return usagef("--%w", err) // it begins with the name of the flag
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
	report.DB, report.Dispatch = config.RedactDSN(report.DB), config.RedactDSN(report.Dispatch)
	if s.json {
		return s.printJSONLine(report)
	}
	return s.printBench(&report)
}
