package bench

import (
	"context"
	"fmt"
	"time"
)

const (
	// pace is the time between two tasks on an otherwise idle system.
	pace = 20 * time.Millisecond
	// throwAway tasks warm up: workers register, caches fill.
	throwAway = 20
)

// Idle submits n tasks at the pace to an idle system. It measures the submit call, and the time from its beginning
// to the start of the handler.
func (l *Load) Idle(ctx context.Context, n int) (submit, start *Percentiles, err error) {
	begun := make(chan time.Time, 1)
	stop, err := l.System.Work(ctx, l.Workers, func() { begun <- time.Now() })
	if err != nil {
		return nil, nil, fmt.Errorf("start workers: %w", err)
	}
	submits, starts, err := l.paced(ctx, throwAway+n, begun)
	if err = first(err, stop()); err != nil {
		return nil, nil, err
	}
	return Summary(submits[throwAway:]), Summary(starts[throwAway:]), nil
}

// paced waits for the start of each task, which begun receives, before the next. A start later than a minute is an
// error.
func (l *Load) paced(ctx context.Context, n int, begun <-chan time.Time) (submits, starts []time.Duration, err error) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	body := Payload(l.PayloadBytes)
	for range n {
		<-tick.C
		t0 := time.Now()
		if err := l.System.Submit(ctx, 0, body); err != nil {
			return nil, nil, err
		}
		submits = append(submits, time.Since(t0))
		select {
		case at := <-begun:
			starts = append(starts, at.Sub(t0))
		case <-time.After(stall):
			return nil, nil, fmt.Errorf("a task was not begun within %s", stall)
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	return submits, starts, nil
}
