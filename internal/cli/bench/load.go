package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// BulkSize is the number of tasks in a bulk call.
	BulkSize = 1000
	warmUp   = 500
	// stall ends a phase without progress.
	stall = time.Minute
)

// Load runs phases on a System, one at a time in one goroutine. A phase returns its cost or the first error; after
// an error the System may hold unsettled tasks.
type Load struct {
	System       System
	Workers      int    // concurrent tasks
	Producers    int    // callers with one task per call
	PayloadBytes int    // of a task
	Meter        *Meter // of CPU time; nil measures none
}

// WarmUp fills caches and opens connections.
func (l *Load) WarmUp(ctx context.Context) error {
	_, err := l.EndToEnd(ctx, warmUp)
	return err
}

// Insert submits n tasks by all producers, one per call.
func (l *Load) Insert(ctx context.Context, n int) (*Phase, error) {
	return l.Measure(n, func() error { return l.insert(ctx, n) })
}

// BulkInsert submits n tasks by one caller, BulkSize per call.
func (l *Load) BulkInsert(ctx context.Context, n int) (*Phase, error) {
	return l.Measure(n, func() error { return l.bulk(ctx, n) })
}

// Drain executes n queued tasks. The time begins before the workers start, as for a queue that filled up without
// any.
func (l *Load) Drain(ctx context.Context, n int) (*Phase, error) {
	goal := l.System.Settled() + int64(n)
	stop := func() error { return nil }
	phase, err := l.Measure(n, func() (err error) {
		if stop, err = l.work(ctx); err != nil {
			return err
		}
		return l.until(ctx, goal)
	})
	return phase, first(err, stop())
}

// EndToEnd submits n tasks, one per call, while workers execute them, until all are settled.
func (l *Load) EndToEnd(ctx context.Context, n int) (*Phase, error) {
	goal := l.System.Settled() + int64(n)
	stop, err := l.work(ctx)
	if err != nil {
		return nil, err
	}
	phase, err := l.Measure(n, func() error {
		if err := l.insert(ctx, n); err != nil {
			return err
		}
		return l.until(ctx, goal)
	})
	return phase, first(err, stop())
}

func (l *Load) work(ctx context.Context) (func() error, error) {
	stop, err := l.System.Work(ctx, l.Workers, func() {})
	if err != nil {
		return func() error { return nil }, fmt.Errorf("start workers: %w", err)
	}
	return stop, nil
}

// insert shares one counter among the producers, so that none is idle before the end.
func (l *Load) insert(ctx context.Context, n int) error {
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	body := Payload(l.PayloadBytes)
	for caller := range l.Producers {
		g.Go(func() error {
			for next.Add(1) <= int64(n) {
				if err := l.System.Submit(ctx, caller, body); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func (l *Load) bulk(ctx context.Context, n int) error {
	body := Payload(l.PayloadBytes)
	for n > 0 {
		size := min(n, BulkSize)
		if err := l.System.SubmitMany(ctx, size, body); err != nil {
			return err
		}
		n -= size
	}
	return nil
}

// until polls every millisecond for the goal, and fails after stall.
func (l *Load) until(ctx context.Context, goal int64) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	last, since := l.System.Settled(), time.Now()
	for last < goal {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d tasks left to settle: %w", goal-last, ctx.Err())
		}
		if now := l.System.Settled(); now != last {
			last, since = now, time.Now()
		} else if time.Since(since) > stall {
			return fmt.Errorf("%d tasks left to settle, and nothing was settled for %s", goal-last, stall)
		}
	}
	return nil
}

// Measure runs fn, which handles n tasks, and returns its time and the CPU time of the Meter's processes.
func (l *Load) Measure(n int, fn func() error) (*Phase, error) {
	before, err := l.Meter.CPU()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := fn(); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	after, err := l.Meter.CPU()
	if err != nil {
		return nil, err
	}
	return &Phase{PerSecond: round(float64(n) / took.Seconds()), Seconds: Round3(took.Seconds()),
		CPUPerTask: Round3(float64((after - before).Microseconds()) / float64(n))}, nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
