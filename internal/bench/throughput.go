package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker"
)

const (
	handler  = "bench"
	bulkSize = 1000
	warmUp   = 500
)

// throughput runs the phases one after the other on one database: what insert
// and bulk_insert queue is what drain carries out.
func (b *bed) throughput(ctx context.Context, r *Report) error {
	if err := b.warm(ctx); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	n := b.opts.Tasks
	var err error
	if r.Insert, err = b.measure(n, func() error { return b.insert(ctx, n) }); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	if r.BulkInsert, err = b.measure(n, func() error { return b.bulk(ctx, n) }); err != nil {
		return fmt.Errorf("bulk insert: %w", err)
	}
	start := b.done.settled.Load()
	if r.Drain, err = b.measure(2*n, func() error { return b.drain(ctx, start+int64(2*n)) }); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	start = b.done.settled.Load()
	if r.EndToEnd, err = b.measure(n, func() error { return b.endToEnd(ctx, n, start+int64(n)) }); err != nil {
		return fmt.Errorf("end to end: %w", err)
	}
	if refused := b.done.refused.Load(); refused > 0 {
		return fmt.Errorf("%d results were refused", refused)
	}
	return nil
}

// warm brings caches, statements and connections up.
func (b *bed) warm(ctx context.Context) error {
	start := b.done.settled.Load()
	return b.endToEnd(ctx, warmUp, start+warmUp)
}

func (b *bed) measure(n int, fn func() error) (*Phase, error) {
	cpu, err := cpuTime(b.pids())
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := fn(); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	used, err := cpuTime(b.pids())
	if err != nil {
		return nil, err
	}
	return &Phase{PerSecond: round(float64(n) / took.Seconds()), Seconds: round3(took.Seconds()),
		CPUPerTask: round3(float64((used - cpu).Microseconds()) / float64(n))}, nil
}

func round(v float64) float64  { return float64(int64(v + 0.5)) }
func round3(v float64) float64 { return float64(int64(v*1000+0.5)) / 1000 }

// insert submits n tasks by concurrent callers, one task a call.
func (b *bed) insert(ctx context.Context, n int) error {
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	body := payload(b.opts.PayloadBytes)
	for range b.opts.Producers {
		g.Go(func() error {
			for next.Add(1) <= int64(n) {
				if _, err := b.client.Submit(ctx, tasker.TaskRequest{TaskType: handler, Context: body}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// bulk submits n tasks by one caller, many a call.
func (b *bed) bulk(ctx context.Context, n int) error {
	body := payload(b.opts.PayloadBytes)
	for n > 0 {
		req := tasker.SubmitRequest{Tasks: make([]tasker.TaskRequest, min(n, bulkSize))}
		for i := range req.Tasks {
			req.Tasks[i] = tasker.TaskRequest{TaskType: handler, Context: body}
		}
		if _, err := b.client.SubmitTasks(ctx, req); err != nil {
			return err
		}
		n -= len(req.Tasks)
	}
	return nil
}

// drain carries out what is queued.
func (b *bed) drain(ctx context.Context, settled int64) error {
	stop := b.work(ctx, handler, noop)
	err := b.until(ctx, settled)
	return first(err, stop())
}

// endToEnd submits n tasks, one a call, while workers carry them out.
func (b *bed) endToEnd(ctx context.Context, n int, settled int64) error {
	stop := b.work(ctx, handler, noop)
	err := b.insert(ctx, n)
	if err == nil {
		err = b.until(ctx, settled)
	}
	return first(err, stop())
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
