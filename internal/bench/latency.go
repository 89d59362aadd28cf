package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/taskerhq/tasker"
)

// pace is the time between two tasks on an otherwise idle system.
const pace = 20 * time.Millisecond

func noop(context.Context, *tasker.Job) (any, error) { return nil, nil }

// latency submits one task at a time to an idle system, and then workflows of
// four linear steps.
func (b *bed) latency(ctx context.Context, r *Report) error {
	if err := b.warm(ctx); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	submit, start, err := b.single(ctx)
	if err != nil {
		return err
	}
	r.Submit, r.SubmitToStart = percentiles(submit), percentiles(start)
	flow, err := b.workflow(ctx)
	if err != nil {
		return fmt.Errorf("workflow: %w", err)
	}
	r.Workflow = percentiles(flow)
	return nil
}

// single measures the submit call, and the time from just before it to the
// start of the handler.
func (b *bed) single(ctx context.Context) (submit, start []time.Duration, err error) {
	begun := make(chan time.Time, 1)
	stop := b.work(ctx, "bench_latency", func(context.Context, *tasker.Job) (any, error) {
		begun <- time.Now()
		return nil, nil
	})
	tick := time.NewTicker(pace)
	defer tick.Stop()
	body := payload(b.opts.PayloadBytes)
	const throwAway = 20 // the worker registers, caches fill
	for i := range b.opts.Tasks + throwAway {
		<-tick.C
		t0 := time.Now()
		if _, err := b.client.Submit(ctx, tasker.TaskRequest{TaskType: "bench_latency", Context: body}); err != nil {
			return nil, nil, first(err, stop())
		}
		t1 := time.Now()
		select {
		case at := <-begun:
			if i >= throwAway {
				submit, start = append(submit, t1.Sub(t0)), append(start, at.Sub(t0))
			}
		case <-ctx.Done():
			return nil, nil, first(ctx.Err(), stop())
		}
	}
	return submit, start, stop()
}

const workflowTemplate = `name: bench_linear
namespace_name: bench
version: "1"
steps:
  - {name: one, handler: bench_linear}
  - {name: two, handler: bench_linear, dependencies: [one]}
  - {name: three, handler: bench_linear, dependencies: [two]}
  - {name: four, handler: bench_linear, dependencies: [three]}
`

// workflow measures four linear steps from the submit call to the moment when a
// waiting caller learns that the task is complete.
func (b *bed) workflow(ctx context.Context) ([]time.Duration, error) {
	if _, err := b.client.RegisterTemplate(ctx, tasker.TemplateSource{YAML: workflowTemplate}); err != nil {
		return nil, err
	}
	stop := b.work(ctx, "bench_linear", noop)
	var took []time.Duration
	body := payload(b.opts.PayloadBytes)
	for i := range max(b.opts.Tasks/3, 30) {
		t0 := time.Now()
		receipt, err := b.client.Submit(ctx, tasker.TaskRequest{Namespace: "bench", Name: "bench_linear", Context: body})
		if err != nil {
			return nil, first(err, stop())
		}
		if err := b.complete(ctx, receipt.TaskUUID); err != nil {
			return nil, first(err, stop())
		}
		if i >= 10 {
			took = append(took, time.Since(t0))
		}
		time.Sleep(pace / 4)
	}
	return took, stop()
}

func (b *bed) complete(ctx context.Context, id uuid.UUID) error {
	t, err := b.client.Wait(ctx, id)
	if err == nil && t.State != tasker.TaskComplete {
		err = fmt.Errorf("task %s is %s", id, t.State)
	}
	return err
}

func percentiles(d []time.Duration) *Percentiles {
	if len(d) == 0 {
		return nil
	}
	slices.Sort(d)
	at := func(q float64) int64 { return d[min(int(q*float64(len(d))), len(d)-1)].Microseconds() }
	return &Percentiles{P50: at(0.50), P95: at(0.95), P99: at(0.99), Max: d[len(d)-1].Microseconds()}
}

// String words percentiles for people.
func (p *Percentiles) String() string {
	ms := func(us int64) string { return strconv.FormatFloat(float64(us)/1000, 'f', 2, 64) }
	return fmt.Sprintf("p50 %s ms  p95 %s ms  p99 %s ms  max %s ms", ms(p.P50), ms(p.P95), ms(p.P99), ms(p.Max))
}
