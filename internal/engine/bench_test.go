package engine_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// Each task is submitted, polled and settled in a separate transaction. Allocations are the same in every run, except
// in BenchmarkLimited, where the admission runs concurrently.

func BenchmarkTask(b *testing.B) { benchmarkTasks(b, engine.Submission{TaskType: "h"}, 1) }

func BenchmarkChain(b *testing.B) {
	benchmarkTasks(b, engine.Submission{Name: "chain"}, 3)
}

func BenchmarkLimited(b *testing.B) { benchmarkTasks(b, engine.Submission{Name: "limited"}, 1) }

func benchmarkTasks(b *testing.B, in engine.Submission, steps int) {
	s := memstore.New(&memstore.Options{Seed: 1})
	defer func() { _ = s.Close() }()
	e, err := engine.New(b.Context(), s, engine.Options{ByHand: true})
	if err != nil {
		b.Fatal(err)
	}
	a, b2, c := benchStep("a"), benchStep("b", "a"), benchStep("c", "b")
	chain := &task.Template{Name: "chain", Steps: []task.StepSpec{a, b2, c}}
	limited := &task.Template{Name: "limited", Steps: []task.StepSpec{a}, Concurrency: &limit.Spec{Permits: 5}}
	for _, def := range []*task.Template{chain, limited} {
		def.Namespace, def.Version = engine.DefaultNamespace, "1"
		def.Link()
		if _, _, err := e.RegisterTemplate(b.Context(), def, engine.Registration{}); err != nil {
			b.Fatal(err)
		}
	}
	w, err := e.Register(b.Context(), task.Worker{Handlers: []string{"h"}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Submit(b.Context(), []engine.Submission{in}, false); err != nil {
			b.Fatal(err)
		}
		for range steps {
			var leases []engine.Lease
			for len(leases) == 0 {
				if err := e.AdmitAll(b.Context()); err != nil {
					b.Fatal(err)
				}
				if leases, _, err = e.Poll(b.Context(), w.ID, 1, 0, true); err != nil {
					b.Fatal(err)
				}
			}
			result := engine.Result{Step: leases[0].Step.ID, Token: leases[0].Step.Token, Status: engine.ResultCompleted}
			if _, err := e.Settle(b.Context(), []engine.Result{result}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func benchStep(name string, parents ...string) task.StepSpec {
	return task.StepSpec{Name: name, Handler: "h", Dependencies: parents, Retry: task.DefaultRetry()}
}
