package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/host/config"
)

// newBench: sizes default to 0, because bench.Options has different defaults for latency and throughput.
func newBench(s *session) *cobra.Command {
	var opts bench.Options
	var via, mode string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the performance of Tasker on this machine",
		Long: `Measure the performance of Tasker on this machine with durable settings. --mode
selects the measurement:

  throughput  submitted, processed and finished tasks per second
  latency     time from submission to start in an idle system
  letters     dead letters captured and sent back per second, time of the pages
  intake      messages of a broker that become tasks per second
  soak        what grows under a steady load: memory, goroutines, tables, indexes

With --via http, callers and workers run in this process and the engine runs in a
second one. --nodes starts several engines on one PostgreSQL and spreads callers
and workers over them. The run fails if a lease is handed out twice or a task is
not settled exactly once.

On PostgreSQL the run creates a schema and drops it at the end, unless the DSN
names one (schema=NAME).`,
		Example: `  tasker bench
  tasker bench --db sqlite:bench.db --producers 256 --via http --json
  tasker bench --db postgres://tasker@localhost/bench --via http --nodes 3
  tasker bench --db postgres://tasker@localhost/bench --via http --transport amqp://localhost/bench
  tasker bench --mode latency
  tasker bench --mode letters --letters 1000000 --groups 500
  tasker bench --mode letters --broker redis-list --broker-url redis://127.0.0.1:6379
  tasker bench --mode intake --broker redis-list --broker-url redis://127.0.0.1:6379
  tasker bench --mode soak --minutes 30 --rate 800`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&opts.Dispatch, "dispatch", "", "dispatch through Redis, redis://HOST:PORT, instead of the database")
	f.StringVar(&opts.Transport, "transport", "",
		"send steps to workers over RabbitMQ, amqp://HOST/VHOST, with --via http; leaves queues there (default: polls)")
	f.StringVar(&opts.DB, "db", "",
		"database; a named SQLite file or schema keeps the tasks (default a temporary file in this directory)")
	f.IntVar(&opts.Tasks, "tasks", 0, "tasks per phase (default 20000; latency 300)")
	f.IntVar(&opts.Workers, "workers", 0, "steps that run at once (default 100)")
	f.IntVar(&opts.Producers, "producers", 16, "concurrent callers, each submitting one task per call")
	f.IntVar(&opts.PayloadBytes, "payload", 100, "size of a task's context in bytes")
	f.StringVar(&via, "via", string(bench.InProcess), "inproc: engine in this process; http: server in another process")
	f.IntVar(&opts.Nodes, "nodes", 1, "servers that share the database; more than one requires --via http and PostgreSQL")
	f.StringVar(&mode, "mode", string(bench.Throughput), "throughput, latency, letters, intake or soak")
	f.IntVar(&opts.Letters, "letters", 0, "dead letters, with --mode letters (default 100000)")
	f.IntVar(&opts.Groups, "groups", 0, "causes of the dead letters, with --mode letters (default 500)")
	f.IntVar(&opts.Minutes, "minutes", 0, "length of --mode soak, a third of which is warm-up (default 10)")
	f.IntVar(&opts.Rate, "rate", 0, "tasks per second of --mode soak (default 400)")
	f.BoolVar(&opts.Unattended, "unattended", false,
		"leave the tasks that fail for good in --mode soak: nothing deletes them, so the database grows")
	f.StringVar(&opts.Broker, "broker", "",
		"broker of --mode letters and intake: memory, redis-list, redis-stream, rabbitmq or kafka (default memory)")
	f.StringVar(&opts.BrokerURL, "broker-url", "", "server of that broker, redis://HOST:PORT or amqp://HOST:PORT")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		opts.Via, opts.Mode = bench.Via(via), bench.Mode(mode)
		if err := checkBench(cmd, &opts); err != nil {
			return err
		}
		return s.bench(cmd.Context(), opts)
	}
	return cmd
}

// checkBench refuses invalid options before the run creates a database.
func checkBench(cmd *cobra.Command, opts *bench.Options) error {
	// An omitted number takes its default; an explicit 0, which bench.Options would replace, is an error.
	for flag, v := range map[string]int{"tasks": opts.Tasks, "workers": opts.Workers, "producers": opts.Producers,
		"letters": opts.Letters, "groups": opts.Groups, "nodes": opts.Nodes, "payload": opts.PayloadBytes,
		"minutes": opts.Minutes, "rate": opts.Rate} {
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
		return usagef("--%w", err) // it begins with the flag's name
	}
	return nil
}

// bench redacts passwords in DSNs, because reports are pasted into issues.
func (s *session) bench(ctx context.Context, opts bench.Options) error {
	if opts.DB == "" {
		dsn, remove, err := bench.TempDatabase()
		if err != nil {
			return err
		}
		defer remove()
		opts.DB = dsn
	}
	// The servers run this executable, so that both sides have one version.
	if opts.Via == bench.ViaHTTP {
		exe, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the program that serves: %w", err)
		}
		opts.Executable = exe
	}
	if opts.Mode == bench.Soak && !s.json {
		opts.EachMinute = s.printSoakMinute
	}
	report, err := bench.Run(ctx, opts)
	if err != nil {
		return err
	}
	report.DB, report.Dispatch = config.RedactDSN(report.DB), config.RedactDSN(report.Dispatch)
	report.Transport = config.RedactDSN(report.Transport)
	if report.Soak != nil {
		return s.soaked(&report)
	}
	if s.json {
		return s.printJSONLine(report)
	}
	return s.printBench(&report)
}
