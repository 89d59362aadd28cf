package engine_test

import (
	"context"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

type asking struct {
	engine.Database
	times int
}

func (s *asking) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	return s.Database.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return fn(ctx, askingTx{tx, s}) })
}

type askingTx struct {
	engine.Tx
	s *asking
}

func (t askingTx) Workers(ctx context.Context, nos []int64) ([]*task.Worker, error) {
	t.s.times++
	return t.Tx.Workers(ctx, nos)
}

// Changes of many workers read their rows together, and apply one after another to each.
func TestWorkersAreChangedTogether(t *testing.T) {
	t.Parallel()
	s := &asking{Database: memstore.New(&memstore.Options{Seed: 1})}
	e, err := engine.New(t.Context(), s,
		engine.Options{Config: settings.Config{WorkerProbes: settings.WorkerProbes{Enabled: true}}})
	if err != nil {
		t.Fatal(err)
	}
	var probes []engine.Probe
	for range 3 {
		w, err := e.Register(t.Context(), task.Worker{})
		if err != nil {
			t.Fatal(err)
		}
		probes = append(probes, engine.Probe{Worker: w, Fault: "no answer"})
	}
	forgotten := *probes[0].Worker
	forgotten.No, forgotten.ID = 987_654, task.ID{15: 1}
	probes = append(probes, engine.Probe{Worker: &forgotten, Fault: "no answer"},
		engine.Probe{Worker: probes[0].Worker, Fault: "no answer again"})
	turned, err := e.Probed(t.Context(), probes)
	if err != nil || len(turned) != 1 || turned[0].State != task.WorkerUnhealthy ||
		turned[0].ProbeError != "no answer again" {
		t.Errorf("turned %+v, %v", turned, err)
	}
	if s.times != 1 {
		t.Errorf("the transaction asked for workers %d times, want once", s.times)
	}
	workers, err := e.Workers(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	failures := 0
	for _, w := range workers {
		failures += w.ProbeFailures
	}
	if failures != 4 {
		t.Errorf("%d failures are stored, want 4", failures)
	}
}
