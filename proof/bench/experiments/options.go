package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/host/config"
)

type mode string

const (
	depth    mode = "depth"      // what a long queue and a long history cost
	pinned   mode = "pinned"     // what a snapshot costs that stays open, on PostgreSQL
	cases    mode = "cases"      // what finding stale tasks, opening cases and asking for them costs
	workers  mode = "workers"    // what many idle workers cost, and claims on one of many routes
	cost     mode = "cost"       // what a task and a step cost: CPU, allocations, statements, log, indexes
	starving mode = "starvation" // how long low priorities wait; simulated
)

var modes = []mode{depth, cases, workers, pinned, cost, starving}

const (
	usualDepth  = 1_000_000 // tasks
	maxFinished = 500_000_000
)

// options are the command line. The embedded ones are a rig's, with different meanings per mode: see usage.
type options struct {
	bench.Options
	mode     mode
	finished int           // initial tasks of depth; PostgreSQL only: it generates the rows
	window   time.Duration // how long workers watches idle ones
	svg      string
	json     bool
}

const usage = `Experiments with Tasker on this machine, with durable settings. -mode says which:

  depth       what a long queue costs (start-up, claims, lists), and on PostgreSQL
              a long history: -finished
  cases       what it costs to find stale tasks among many live ones, to open
              cases, and to ask for them; -tasks are the live tasks, of which
              one in 1,000 is stale, and one in ten has a case
  workers     what -workers that have nothing to do cost while they poll and send
              heartbeats, for -window; and whether claims on one of 100 routes
              depend on -tasks that wait on the other 99
  pinned      how throughput holds up on PostgreSQL while a snapshot from before
              the first task stays open, so that nothing can be vacuumed
  cost        what a task costs, and a step of a workflow: CPU, allocations, bytes
              written; on PostgreSQL also statements (if pg_stat_statements is
              loaded), commits, writes to tables and indexes, and bytes of the log
              (with pg_walinspect, for a superuser)
  starvation  how long low priorities wait in each mode of scheduling while high
              ones saturate the workers; simulated, in memory and in no time.
              -svg draws it

`

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("experiments", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		_, _ = io.WriteString(stderr, usage)
		f.PrintDefaults()
	}
	f.StringVar((*string)(&o.mode), "mode", "", "depth, cases, workers, pinned, cost or starvation")
	f.StringVar(&o.DB, "db", "", "database to measure on; tasks stay in a SQLite file or a schema that is named (default "+
		"a temporary file in this directory)")
	f.StringVar(&o.Dispatch, "dispatch", "", "dispatch through a Redis, redis://HOST:PORT, instead of the database")
	f.IntVar(&o.Tasks, "tasks", 0, "tasks (default depth and cases 1000000, pinned 500000, workers 990000, "+
		"cost 40000)")
	f.IntVar(&o.finished, "finished", 0, "finished tasks that depth begins with; PostgreSQL only")
	f.IntVar(&o.Workers, "workers", 0, "steps that run at once (default 100); in mode workers how many there are "+
		"(default 10000)")
	f.DurationVar(&o.window, "window", time.Minute, "how long mode workers watches them")
	f.IntVar(&o.Producers, "producers", 16, "callers that submit one task a call")
	f.IntVar(&o.PayloadBytes, "payload", 100, "bytes of a task's context")
	f.StringVar((*string)(&o.Via), "via", string(bench.InProcess),
		"inproc: engine in this process; http: server in another process")
	f.IntVar(&o.Nodes, "nodes", 1, "servers that share the database; more than one need -via http and PostgreSQL")
	f.StringVar(&o.Executable, "tasker", "../bin/tasker", "the program that serves, for -via http")
	f.StringVar(&o.svg, "svg", "", "file to draw the result of -mode starvation into")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	o = o.withDefaults()
	return o, o.validate()
}

func (o options) withDefaults() options {
	switch o.mode {
	case depth, cases:
		o.Tasks = cmp.Or(o.Tasks, usualDepth)
	case cost:
		o.Tasks, o.Workers = cmp.Or(o.Tasks, 40_000), cmp.Or(o.Workers, 1000)
	case pinned:
		o.Tasks = cmp.Or(o.Tasks, usualDepth/2)
	case workers:
		o.Tasks, o.Workers = cmp.Or(o.Tasks, 990_000), cmp.Or(o.Workers, 10_000)
	}
	return o
}

// validate refuses impossible options, without a database.
func (o options) validate() error {
	postgres := bench.IsPostgres(o.DB)
	switch {
	case !slices.Contains(modes, o.mode):
		return fmt.Errorf("mode must be one of %v, not %q", modes, o.mode)
	case o.svg != "" && o.mode != starving:
		return fmt.Errorf("svg is for mode %s", starving)
	case o.mode == pinned && !postgres:
		return fmt.Errorf("mode pinned is about PostgreSQL: give it one with -db")
	case (o.mode == depth || o.mode == cases || o.mode == cost) && o.Via != bench.InProcess:
		return fmt.Errorf("mode %s measures in process only", o.mode)
	case o.mode == cases && strings.HasPrefix(o.DB, "memory:"):
		return fmt.Errorf("mode cases opens its database several times: it must outlive that")
	case o.mode == cases && o.Tasks < staleShare:
		return fmt.Errorf("tasks must be at least %d in mode cases, so that one is stale", staleShare)
	case o.mode == workers && o.Tasks < capabilitySets:
		return fmt.Errorf("tasks must be at least %d in mode workers, one for each route", capabilitySets)
	case o.window < time.Second || o.window > time.Hour:
		return fmt.Errorf("window must be 1s to 1h")
	case o.finished < 0 || o.finished > maxFinished:
		return fmt.Errorf("finished must be 0 to %d", maxFinished)
	case o.finished > 0 && o.mode != depth:
		return fmt.Errorf("finished tasks are part of mode depth only")
	case o.finished > 0 && !postgres:
		return fmt.Errorf("finished tasks are generated by PostgreSQL: give it one with -db")
	}
	if o.DB != "" {
		if _, err := config.ParseDSN(o.DB); err != nil {
			return fmt.Errorf("db: %w", err)
		}
	}
	return o.Validate()
}
