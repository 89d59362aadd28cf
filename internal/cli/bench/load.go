package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// BulkSize is how many tasks a call submits that submits many.
	BulkSize = 1000
	warmUp   = 500
	// stall is how long nothing may be settled before a phase is given up.
	stall = time.Minute
)

// Load is what a System is put under. Its phases are run one at a time, by one goroutine. A phase returns its cost, or
// the first error; then the System may hold tasks that are not settled.
type Load struct {
	System       System
	Workers      int    // tasks that are carried out at once
	Producers    int    // callers that submit one task a call
	PayloadBytes int    // of a task
	Meter        *Meter // of the CPU that is used; nil measures none
}

// WarmUp brings caches, statements and connections up.
func (l *Load) WarmUp(ctx context.Context) error {
	_, err := l.EndToEnd(ctx, warmUp)
	return err
}

// Insert submits n tasks by the producers, one task a call.
func (l *Load) Insert(ctx context.Context, n int) (*Phase, error) {
	return l.Measure(n, func() error { return l.insert(ctx, n) })
}

// BulkInsert submits n tasks by one caller, 1,000 a call.
func (l *Load) BulkInsert(ctx context.Context, n int) (*Phase, error) {
	return l.Measure(n, func() error { return l.bulk(ctx, n) })
}

// Drain executes n tasks that are queued. The time begins before the workers start, as it would for a queue that has
// filled up while there were none.
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

// EndToEnd submits n tasks, one a call, while workers execute them. It ends when the last one is settled.
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

// work starts workers whose handlers do nothing.
func (l *Load) work(ctx context.Context) (func() error, error) {
	stop, err := l.System.Work(ctx, l.Workers, func() {})
	if err != nil {
		return func() error { return nil }, fmt.Errorf("start workers: %w", err)
	}
	return stop, nil
}

// insert submits n tasks by all producers at the same time. They share one counter, so that none is idle before the
// end.
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

// bulk submits n tasks in calls of BulkSize, one after the other.
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

// until waits until as many tasks have been settled as the goal. It looks every millisecond, and gives up after a
// minute without progress.
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

// Measure runs fn, which does something n times, and returns its cost: time, and CPU of all processes of the Meter.
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

// first returns the first error that is not nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
