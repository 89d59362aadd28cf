// Command bench runs other queues and Tasker side by side on one PostgreSQL, or one Redis, and prints the results and
// ratios: see "make bench-peers".
//
// It is a separate module, to keep its peers out of Tasker's dependencies.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/proof/bench/compare"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv("DB"), os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	compare.Options
	db        string
	redis     string
	json      bool
	riverPool int
	peers     []string
}

// known are the measurable queues, in the order of comparison.
var known = []string{"bare", "bare-sqlite", "river", "asynq", "tasker", "tasker-redis", "tasker-sqlite"}

// onRedis need a Redis.
var onRedis = []string{"asynq", "tasker-redis"}

func (o options) needsRedis() bool {
	return slices.ContainsFunc(o.peers, func(p string) bool { return slices.Contains(onRedis, p) })
}

func parse(args []string, db string, stderr io.Writer) (options, error) {
	o := options{Options: compare.Options{Producers: []int{16, 256}}}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.db, "db", "", "DSN of a PostgreSQL, postgres://...; schemas are made in it and dropped (default $DB, "+
		"else a server of its own)")
	f.StringVar(&o.redis, "redis", "", "URL of a Redis that holds nothing else, redis://... (default a server of its "+
		"own, appendfsync everysec)")
	f.IntVar(&o.Rounds, "rounds", 3, "how often everything is measured")
	f.IntVar(&o.Tasks, "tasks", 40_000, "tasks of each phase")
	f.IntVar(&o.Workers, "workers", 1000, "tasks that are carried out at once")
	f.IntVar(&o.IdleWorkers, "idle-workers", 100, "the same while latency is measured")
	f.IntVar(&o.IdleTasks, "idle-tasks", 300, "tasks that latency is measured with, one each 20 ms")
	f.IntVar(&o.PayloadBytes, "payload", 100, "bytes of a task's payload")
	f.IntVar(&o.riverPool, "river-pool", 40, "connections of River's pool; Tasker uses its own default")
	peers := f.String("peers", "river,tasker", "which queues, by name; ratios are those of the last to the first")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.db == "" {
		o.db = db
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	for name := range strings.SplitSeq(*peers, ",") {
		if !slices.Contains(known, name) || slices.Contains(o.peers, name) {
			return o, fmt.Errorf("peers are %v, each once: not %q", known, *peers)
		}
		o.peers = append(o.peers, name)
	}
	if o.riverPool < 1 || o.riverPool > 1000 {
		return o, errors.New("river-pool must be 1 to 1000")
	}
	if o.db != "" {
		if _, err := postgres.ParseDSN(o.db); err != nil {
			return o, err
		}
	}
	return o, o.Validate()
}

// result is the JSON document.
type result struct {
	Versions     map[string]string `json:"versions"`
	CPUs         int               `json:"cpus"`
	Server       map[string]string `json:"server"`
	Rounds       int               `json:"rounds"`
	Tasks        int               `json:"tasks"`
	Workers      int               `json:"workers"`
	PayloadBytes int               `json:"payload_bytes"`
	*compare.Report
}

// run measures and prints. It starts missing servers for the run, so that "make bench-peers" needs only installed
// programs.
func run(ctx context.Context, args []string, db string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, db, stderr)
	if err != nil {
		return err
	}
	if o.db == "" {
		server, err := launch()
		if err != nil {
			return fmt.Errorf("start a server, as none was named with --db: %w", err)
		}
		defer func() { _ = server.Close() }() // it and its data go with us
		o.db = server.DSN()
	}
	if o.redis == "" && o.needsRedis() {
		server, err := redistest.Launch("appendonly=yes", "appendfsync=everysec")
		if err != nil {
			return fmt.Errorf("start a Redis, as none was named with --redis: %w", err)
		}
		defer func() { _ = server.Close() }()
		o.redis = server.URL()
	}
	r := result{Versions: versions(), CPUs: runtime.NumCPU(), Rounds: o.Rounds, Tasks: o.Tasks, Workers: o.Workers,
		PayloadBytes: o.PayloadBytes}
	if r.Server, err = look(ctx, o.db); err != nil {
		return err
	}
	pids := []int{os.Getpid()}
	if pid, ok := bench.RedisHere(ctx, o.redis); ok {
		pids = append(pids, pid)
	}
	if o.Meter, err = bench.Watch(ctx, o.db, pids); err != nil {
		return err
	}
	o.Progress = func(round int, phase, peer string) {
		fmt.Fprintf(stderr, "round %d of %d: %s, %s\n", round, o.Rounds, phase, peer)
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	open := map[string]func(context.Context) (compare.Queue, error){
		"river": openRiver(o.db, o.riverPool, log), "asynq": openAsynq(o.redis),
		"tasker": openTasker(o.db, ""), "tasker-redis": openTasker(o.db, o.redis),
		"bare": openBare(o.db), "bare-sqlite": openBareSQLite, "tasker-sqlite": openTaskerSQLite,
	}
	var peers []compare.Peer
	for _, name := range o.peers {
		peers = append(peers, compare.Peer{Name: name, Open: open[name]})
	}
	r.Report, err = compare.Run(ctx, peers, o.Options)
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(stdout).Encode(r)
	}
	return r.write(stdout)
}

// look reads the relevant settings, and refuses a server that is not durable: its numbers would not be comparable.
func look(ctx context.Context, dsn string) (map[string]string, error) {
	conn, err := connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	found, err := serverSettings(ctx, conn)
	if err != nil {
		return nil, err
	}
	return found, durable(found)
}

// versions are those of the peers and of their drivers.
func versions() map[string]string {
	v := map[string]string{"go": runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, d := range info.Deps {
		switch d.Path {
		case "github.com/riverqueue/river", "github.com/hibiken/asynq", "github.com/jackc/pgx/v5":
			v[d.Path[strings.Index(d.Path, "/")+1:]] = d.Version
		}
	}
	return v
}

func (r result) write(out io.Writer) error {
	_, err := fmt.Fprintf(out,
		"%d rounds, %d tasks a phase of %d bytes, %d workers, %d CPUs; median (lowest to highest)\n"+
			"river %s, asynq %s, pgx %s, %s; PostgreSQL %s, shared_buffers %s, fsync %s, synchronous_commit %s, data in %s\n",
		r.Rounds, r.Tasks, r.PayloadBytes, r.Workers, r.CPUs,
		r.Versions["riverqueue/river"], r.Versions["hibiken/asynq"], r.Versions["jackc/pgx/v5"], r.Versions["go"],
		r.Server["server_version"], r.Server["shared_buffers"], r.Server["fsync"], r.Server["synchronous_commit"],
		r.Server["data_directory"])
	if err != nil {
		return err
	}
	return r.Report.Write(out)
}
