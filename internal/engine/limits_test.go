package engine_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestLimitedStepsPress(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"Template", "Operator"} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			e, tick := newEngine(t, engine.Options{Config: settings.Config{
				Backpressure: settings.Backpressure{Scope: settings.AllScope, Soft: 3, HighOnly: -1, AllowListOnly: -1}}})
			tpl := &task.Template{Namespace: engine.DefaultNamespace, Name: "t", Version: "1",
				Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: task.DefaultRetry()}}}
			if of == "Template" {
				tpl.Concurrency = &limit.Spec{Permits: 1}
			}
			tpl.Link()
			if _, _, err := e.RegisterTemplate(t.Context(), tpl, engine.Registration{}); err != nil {
				t.Fatal(err)
			}
			target := task.PauseTarget{Kind: task.PauseHandler, Namespace: engine.DefaultNamespace, Name: "h"}
			if of == "Operator" {
				if _, _, err := e.SetLimit(t.Context(), engine.LimitRequest{Target: target, Permits: 1}); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				submit(t, e, engine.Submission{Name: "t"})
			}
			if err := e.AdmitAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			tick(time.Hour) // so that it counts again
			_, err := e.Submit(t.Context(), []engine.Submission{{Name: "t"}}, false)
			if task.CodeOf(err) != task.Exhausted {
				t.Errorf("one more than may wait is answered with %v", err)
			}
		})
	}
}
