package bench

import (
	"context"
	"errors"
	"fmt"
)

// Run measures. It blocks for as long as that takes.
func Run(ctx context.Context, opts Options) (report Report, err error) {
	opts = opts.withDefaults()
	report = Report{Mode: opts.Mode, Via: opts.Via, Nodes: opts.Nodes, DB: opts.DB, Dispatch: opts.Dispatch, Tasks: opts.Tasks,
		Workers: opts.Workers, Producers: opts.Producers, PayloadBytes: opts.PayloadBytes}
	if err := opts.Validate(); err != nil {
		return report, err
	}
	own, drop, err := ownSchema(ctx, opts.DB)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	opts.DB, opts.Dispatch = own, OwnPrefix(opts.Dispatch)
	t, err := Open(ctx, opts)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	pids := t.pids()
	if pid, ok := RedisHere(ctx, opts.Dispatch); ok {
		pids = append(pids, pid)
	}
	meter, err := Watch(ctx, opts.DB, pids)
	if err != nil {
		return report, err
	}
	r := &run{opts: opts, tasker: t, report: &report, load: &Load{
		System: t, Workers: opts.Workers, Producers: opts.Producers, PayloadBytes: opts.PayloadBytes, Meter: meter}}
	measure := map[Mode]func(context.Context) error{
		Throughput: r.throughput, Latency: r.latency, Depth: r.depth, Pinned: r.pinned, Cases: r.cases, Fleet: r.workers,
	}[opts.Mode]
	if err := measure(ctx); err != nil {
		return report, err
	}
	if report.Ledger, err = t.check(); err != nil {
		return report, err
	}
	report.MaxRSSBytes, err = maxRSS(t.pids())
	return report, err
}

// run is one run of one mode.
type run struct {
	opts   Options
	tasker *Tasker
	load   *Load
	report *Report
}

// throughput runs the phases one after the other on one database: what insert
// and bulk_insert queue is what drain carries out.
func (r *run) throughput(ctx context.Context) error {
	n := r.opts.Tasks
	if err := r.load.WarmUp(ctx); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	var err error
	if r.report.Insert, err = r.load.Insert(ctx, n); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	if r.report.BulkInsert, err = r.load.BulkInsert(ctx, n); err != nil {
		return fmt.Errorf("bulk insert: %w", err)
	}
	if r.report.Drain, err = r.load.Drain(ctx, 2*n); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	if r.report.EndToEnd, err = r.load.EndToEnd(ctx, n); err != nil {
		return fmt.Errorf("end to end: %w", err)
	}
	return nil
}
