package main

import (
	"context"
	_ "embed"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
	"github.com/taskerhq/tasker/worker"
)

//go:embed order.yaml
var template string

//go:embed rejected.script.yaml
var rejected string

func open(t *testing.T, shop *Shop) *tasker.Client {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	client, err := embedded.Open(ctx, "memory:", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.RegisterTemplate(ctx, tasker.TemplateSource{YAML: template}); err != nil {
		t.Fatal(err)
	}
	worker := worker.New(client, &worker.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	shop.Register(worker)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func states(t *testing.T, client *tasker.Client, o Order, act string) (tasker.TaskState, map[string]tasker.StepState) {
	t.Helper()
	order, err := client.Submit(t.Context(), tasker.NewTask("order", o))
	if err != nil {
		t.Fatal(err)
	}
	if act != "" {
		decide(t, client, order.TaskUUID, act)
	}
	task, err := client.Wait(t.Context(), order.TaskUUID)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := client.Steps(t.Context(), order.TaskUUID)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]tasker.StepState{}
	for _, s := range steps {
		out[s.Name] = s.State
	}
	return task.State, out
}

func decide(t *testing.T, client *tasker.Client, id uuid.UUID, act string) {
	t.Helper()
	for {
		steps, err := client.Steps(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if s.State != tasker.StepWaiting {
				continue
			}
			if _, err := client.ActOnStep(t.Context(), id, s.StepUUID, tasker.StepAction{ActionType: act, DecidedBy: "ada",
				Reason: "as the test says"}); err != nil {
				t.Fatal(err)
			}
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("no step asks for an approval")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	shop := NewShop(map[string]int{"lamp": 1, "piano": 2})
	client := open(t, shop)
	for _, c := range []struct {
		name  string
		order Order
		act   string
		state tasker.TaskState
		steps map[string]tasker.StepState
	}{
		{"small", Order{"A1", "lamp", 4900, "Main St 1"}, "", tasker.TaskComplete,
			map[string]tasker.StepState{"reserve": "complete", "charge": "complete", "approve": "skipped", "ship": "complete",
				"refund": "skipped", "release": "skipped", "tell": "skipped"}},
		{"out of stock", Order{"A2", "lamp", 4900, "Main St 1"}, "", tasker.TaskError,
			map[string]tasker.StepState{"reserve": "error", "charge": "pending", "approve": "pending", "ship": "pending",
				"refund": "skipped", "release": "skipped", "tell": "complete"}},
		{"approved", Order{"A3", "piano", 450_000, "Main St 1"}, tasker.Approve, tasker.TaskComplete,
			map[string]tasker.StepState{"reserve": "complete", "charge": "complete", "approve": "complete", "ship": "complete",
				"refund": "skipped", "release": "skipped", "tell": "skipped"}},
		{"rejected", Order{"A4", "piano", 450_000, "Main St 1"}, tasker.Reject, tasker.TaskError,
			map[string]tasker.StepState{"reserve": "complete", "charge": "complete", "approve": "error", "ship": "pending",
				"refund": "complete", "release": "complete", "tell": "complete"}},
		{"not shipped", Order{"A5", "piano", 90_000, "moon"}, "", tasker.TaskError,
			map[string]tasker.StepState{"reserve": "complete", "charge": "complete", "approve": "skipped", "ship": "error",
				"refund": "complete", "release": "complete", "tell": "complete"}},
	} {
		state, steps := states(t, client, c.order, c.act)
		if state != c.state {
			t.Errorf("%s: the task is %s", c.name, state)
		}
		for name, want := range c.steps {
			if steps[name] != want {
				t.Errorf("%s: step %s is %s, want %s", c.name, name, steps[name], want)
			}
		}
	}
	shop.mu.Lock()
	defer shop.mu.Unlock()
	if len(shop.paid) != 2 || len(shop.shipped) != 2 || shop.stock["piano"] != 1 || len(shop.mails) != 3 {
		t.Errorf("the shop was left with %d payments, %d parcels, %d pianos and the mails %q", len(shop.paid),
			len(shop.shipped), shop.stock["piano"], shop.mails)
	}
}

// TestRejected tests the template without handlers.
func TestRejected(t *testing.T) {
	t.Parallel()
	out, err := embedded.Simulate(t.Context(), template, rejected, embedded.SimulateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if out.State != tasker.TaskError || out.Step("refund").State != tasker.StepComplete ||
		out.Step("ship").State != tasker.StepPending {
		t.Errorf("%+v", out)
	}
}
