package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Run measures. It blocks meanwhile. A broken guarantee is an error, too: the report is invalid then.
func Run(ctx context.Context, opts Options) (report Report, err error) {
	if opts = opts.withDefaults(); opts.Mode == Soak {
		return runSoak(ctx, opts, time.Minute)
	}
	if opts.Mode == Letters || opts.Mode == Intake {
		if err := opts.Validate(); err != nil {
			return report, err
		}
		if opts.Mode == Intake {
			return runIntake(ctx, opts)
		}
		return runLetters(ctx, opts)
	}
	rig, err := Mount(ctx, opts)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, rig.Close()) }()
	report.Setting = rig.Setting
	r := &run{rig, &report}
	measure := map[Mode]func(context.Context) error{Throughput: r.throughput, Latency: r.latency}[rig.Options.Mode]
	if err := measure(ctx); err != nil {
		return report, err
	}
	report.Outcome, err = rig.Check()
	return report, err
}

type run struct {
	*Rig
	report *Report
}

// throughput runs the phases on one database: drain executes the tasks of insert and bulk_insert.
func (r *run) throughput(ctx context.Context) error {
	n := r.Options.Tasks
	if err := r.Load.WarmUp(ctx); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	var err error
	if r.report.Insert, err = r.Load.Insert(ctx, n); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	if r.report.BulkInsert, err = r.Load.BulkInsert(ctx, n); err != nil {
		return fmt.Errorf("bulk insert: %w", err)
	}
	if r.report.Drain, err = r.Load.Drain(ctx, 2*n); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	if r.report.EndToEnd, err = r.Load.EndToEnd(ctx, n); err != nil {
		return fmt.Errorf("end to end: %w", err)
	}
	return nil
}
