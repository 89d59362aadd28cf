package apitest_test

import (
	"context"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/worker/protocol"
)

// downAfter opens a breaker after as many failures as failDown makes. Other tests have fewer per second, on any
// machine.
var downAfter = settings.OutageBreaker{Enabled: settings.On, Failures: 500, Within: time.Second}

// openOutage fails attempts of the handler "down" until an outage is open, unless one is.
func openOutage(t *testing.T, c *tasker.Client) *flow.Outage {
	t.Helper()
	ctx, backend := t.Context(), flow.Of(c)
	open := func() *flow.Outage {
		page, err := backend.Outages(ctx, flow.OutageFilter{State: flow.OutageOpen})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Outages) == 0 {
			return nil
		}
		return &page.Outages[0]
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if o := open(); o != nil {
			return o
		}
		if time.Since(began) > time.Minute {
			t.Fatal("no outage opens")
		}
		failDown(ctx, t, c)
	}
}

func failDown(ctx context.Context, t *testing.T, c *tasker.Client) {
	t.Helper()
	w, err := protocol.Of(c).RegisterWorker(ctx, protocol.WorkerRegistration{Name: "down", Handlers: []string{"down"}})
	if err != nil {
		t.Fatal(err)
	}
	tasks := make([]tasker.TaskRequest, downAfter.Failures)
	for i := range tasks {
		tasks[i].TaskType = "down"
	}
	if _, err := c.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	polled, err := protocol.Of(c).Poll(ctx, protocol.PollRequest{WorkerID: w.WorkerID, Capacity: len(tasks), Start: true})
	if err != nil {
		t.Fatal(err)
	}
	var results []protocol.StepResult
	for _, a := range polled.Steps {
		results = append(results, protocol.StepResult{StepUUID: a.StepUUID, Token: a.Token, Status: protocol.ResultFailed,
			Error: &tasker.Failure{Message: "connection refused", Retryable: new(bool)}})
	}
	if len(results) == 0 {
		return
	}
	if _, err := protocol.Of(c).Settle(ctx, protocol.SettleRequest{WorkerID: w.WorkerID, Results: results}); err != nil {
		t.Fatal(err)
	}
}
