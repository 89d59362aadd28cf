package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// gated holds transactions back while it is shut, so that calls meet in one batch.
type gated struct {
	*poisoned
	gate chan struct{} // closed: open
}

func (g *gated) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	<-g.gate
	return g.poisoned.Write(ctx, fn)
}

// Calls of several workers share a transaction; one whose row cannot be stored fails alone.
func TestPoisonedCalls(t *testing.T) {
	verbs := map[string]func(*engine.Engine, *task.Worker, engine.Lease) error{
		"Start": func(e *engine.Engine, w *task.Worker, l engine.Lease) error {
			answers, err := e.Start(context.Background(), []engine.LeaseRef{{Step: l.Step.ID, Token: l.Step.Token,
				Worker: w.No}})
			if err == nil {
				err = answers[0].Err
			}
			return err
		},
		"Settle": func(e *engine.Engine, _ *task.Worker, l engine.Lease) error {
			answers, err := e.Settle(context.Background(), []engine.Result{{Step: l.Step.ID, Token: l.Step.Token,
				Status: engine.ResultCompleted}})
			if err == nil {
				err = answers[0].Err
			}
			return err
		},
	}
	for name, call := range verbs {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { callTogether(t, name == "Settle", call) }) })
	}
}

func callTogether(t *testing.T, start bool, call func(*engine.Engine, *task.Worker, engine.Lease) error) {
	g := &gated{poisoned: &poisoned{Database: memstore.New(&memstore.Options{Seed: 1}), bad: map[task.ID]bool{}},
		gate: make(chan struct{})}
	close(g.gate)
	e, _ := newEngineOn(t, g, engine.Options{})
	registerOne(t, e)
	submitMany(t, e, 6, func(int, *engine.Submission) {})
	w := register(t, e, 10)
	leases, _, err := e.Poll(t.Context(), w.ID, 6, 0, start)
	if err != nil || len(leases) != 6 {
		t.Fatal(len(leases), err)
	}
	g.gate = make(chan struct{})
	errs := make([]error, len(leases))
	var wg sync.WaitGroup
	for i, l := range leases { // the first call runs alone, the others share the next transaction
		wg.Go(func() { errs[i] = call(e, w, l) })
		synctest.Wait()
	}
	g.poison(leases[3].Task.ID)
	close(g.gate)
	wg.Wait()
	for i, err := range errs {
		if poisoned := errors.Is(err, errPoison); poisoned != (i == 3) || err != nil && !poisoned {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if t.Failed() {
		t.Log(fmt.Sprint(errs))
	}
}
