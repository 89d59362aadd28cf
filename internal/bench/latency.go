package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// latency submits one task at a time to an idle system, and then workflows of
// four linear steps.
func (r *run) latency(ctx context.Context) error {
	if err := r.load.WarmUp(ctx); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	var err error
	if r.report.Submit, r.report.SubmitToStart, err = r.load.Idle(ctx, r.opts.Tasks); err != nil {
		return err
	}
	stop := r.tasker.workOn(ctx, "bench_linear", r.opts.Workers, func() {})
	flow, err := r.workflows(ctx)
	if err = errors.Join(err, stop()); err != nil {
		return fmt.Errorf("workflow: %w", err)
	}
	r.report.Workflow = percentiles(flow)
	return nil
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

// workflows measures four linear steps from the submit call to the moment when a
// waiting caller learns that the task is complete.
func (r *run) workflows(ctx context.Context) ([]time.Duration, error) {
	client := r.tasker.nodes[0].client
	if _, err := client.RegisterTemplate(ctx, tasker.TemplateSource{YAML: workflowTemplate}); err != nil {
		return nil, err
	}
	var took []time.Duration
	body := payload(r.opts.PayloadBytes)
	for i := range max(r.opts.Tasks/3, 30) {
		t0 := time.Now()
		receipt, err := client.Submit(ctx, tasker.TaskRequest{Namespace: "bench", Name: "bench_linear", Context: body})
		if err != nil {
			return nil, err
		}
		if err := complete(ctx, client, receipt.TaskUUID); err != nil {
			return nil, err
		}
		if i >= throwAway/2 {
			took = append(took, time.Since(t0))
		}
		time.Sleep(pace / 4)
	}
	return took, nil
}

func complete(ctx context.Context, client *tasker.Client, id uuid.UUID) error {
	t, err := client.Wait(ctx, id)
	if err == nil && t.State != tasker.TaskComplete {
		err = fmt.Errorf("task %s is %s", id, t.State)
	}
	return err
}
