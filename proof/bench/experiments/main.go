// Command experiments measures rare questions: long queues and histories, old snapshots, many cases, many workers, and
// the wait of low priorities. docs/concepts/benchmarks.md has the commands and the numbers. "tasker bench" measures
// throughput and latency.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/host/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := perform(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "experiments:", err)
		os.Exit(1)
	}
}

func perform(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.mode == starving {
		return starve(ctx, o, stdout)
	}
	if o.DB == "" {
		dsn, remove, err := bench.TempDatabase()
		if err != nil {
			return err
		}
		defer remove()
		o.DB = dsn
	}
	r, err := measure(ctx, o)
	if err != nil {
		return err
	}
	r.DB, r.Dispatch = config.RedactDSN(r.DB), config.RedactDSN(r.Dispatch)
	if o.json {
		return json.NewEncoder(stdout).Encode(r)
	}
	return r.write(stdout)
}

// report has the measurements of the experiments that ran.
type report struct {
	bench.Setting
	Mode mode `json:"mode"`

	Depth  *DepthReport   `json:"depth,omitempty"`
	Pinned *PinnedReport  `json:"pinned,omitempty"`
	Cases  *CasesReport   `json:"cases,omitempty"`
	Fleet  *WorkersReport `json:"workers_mode,omitempty"`
	Cost   *CostReport    `json:"cost,omitempty"`

	bench.Outcome
}

func measure(ctx context.Context, o options) (_ *report, err error) {
	rig, err := bench.Mount(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rig.Close()) }()
	o.Options = rig.Options
	r := &run{opts: o, tasker: rig.Tasker, load: rig.Load, report: &report{Setting: rig.Setting, Mode: o.mode}}
	experiment := map[mode]func(context.Context) error{depth: r.depth, pinned: r.pinned, cases: r.cases,
		workers: r.workers, cost: r.cost}[o.mode]
	if err := experiment(ctx); err != nil {
		return nil, err
	}
	r.report.Outcome, err = rig.Check()
	return r.report, err
}

// run is one experiment. Each mode is a method that fills in its part of the report.
type run struct {
	opts   options
	tasker *bench.Tasker
	load   *bench.Load
	report *report
}

func (r *run) client() *tasker.Client { return r.tasker.Client() }
