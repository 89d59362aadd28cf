package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// latency submits single tasks to an idle system, then workflows of four linear steps.
func (r *run) latency(ctx context.Context) error {
	if err := r.Load.WarmUp(ctx); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	var err error
	if r.report.Submit, r.report.SubmitToStart, err = r.Load.Idle(ctx, r.Options.Tasks); err != nil {
		return err
	}
	stop := r.Tasker.WorkOn(ctx, "bench_linear", r.Options.Workers, func() {})
	flow, err := r.workflows(ctx)
	if err = errors.Join(err, stop()); err != nil {
		return fmt.Errorf("workflow: %w", err)
	}
	r.report.Workflow = Summary(flow)
	return nil
}

// workflowTemplate has four empty steps in a row, to measure the time between them.
const workflowTemplate = `name: bench_linear
namespace_name: bench
version: "1"
steps:
  - {name: one, handler: bench_linear}
  - {name: two, handler: bench_linear, dependencies: [one]}
  - {name: three, handler: bench_linear, dependencies: [two]}
  - {name: four, handler: bench_linear, dependencies: [three]}
`

// workflows measures from the submit call until a waiting caller learns of the completion. It runs a third of the
// tasks, at least 30, and drops the first ones.
func (r *run) workflows(ctx context.Context) ([]time.Duration, error) {
	client := r.Tasker.Client()
	if _, err := client.RegisterTemplate(ctx, tasker.TemplateSource{YAML: workflowTemplate}); err != nil {
		return nil, err
	}
	var took []time.Duration
	body := Payload(r.Options.PayloadBytes)
	for i := range max(r.Options.Tasks/3, 30) {
		t0 := time.Now()
		receipt, err := client.Submit(ctx, tasker.TaskRequest{Namespace: "bench", Name: "bench_linear", Context: body})
		if err != nil {
			return nil, err
		}
		if err := Complete(ctx, client, receipt.TaskUUID); err != nil {
			return nil, err
		}
		if i >= throwAway/2 {
			took = append(took, time.Since(t0))
		}
		time.Sleep(pace / 4)
	}
	return took, nil
}

// Complete waits until a task is complete; any other end is an error.
func Complete(ctx context.Context, client *tasker.Client, id uuid.UUID) error {
	t, err := client.Wait(ctx, id)
	if err == nil && t.State != tasker.TaskComplete {
		err = fmt.Errorf("task %s is %s", id, t.State)
	}
	return err
}
