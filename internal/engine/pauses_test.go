package engine_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
)

type claims struct {
	notes

	n atomic.Int64
}

func (c *claims) Committed(of *engine.Commit) {
	if of.Verb == "claim" {
		c.n.Add(1)
	}
}

func registerOne(t *testing.T, e *engine.Engine) {
	t.Helper()
	tpl := &task.Template{Namespace: engine.DefaultNamespace, Name: "t", Version: "1",
		Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: task.DefaultRetry()}}}
	tpl.Link()
	if _, _, err := e.RegisterTemplate(t.Context(), tpl, engine.Registration{}); err != nil {
		t.Fatal(err)
	}
}

// TestClaimOfManyPaused: a poll gets steps behind many of a paused template, and each transaction parks a bounded
// number.
func TestClaimOfManyPaused(t *testing.T) {
	t.Parallel()
	for name, dispatcher := range map[string]engine.Dispatcher{"Native": nil, "Dispatcher": memory.NewServer().Open()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const many = 4500
			seen := &claims{}
			e, _ := newEngine(t, engine.Options{Observer: seen, Dispatcher: dispatcher})
			registerOne(t, e)
			if dispatcher != nil {
				if err := e.MaintainDispatch(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for i := range many / 500 {
				if i == 0 {
					submit(t, e, engine.Submission{TaskType: "h", Priority: "low"})
				}
				subs := make([]engine.Submission, 500)
				for j := range subs {
					subs[j].Name = "t"
				}
				submit(t, e, subs...)
			}
			target := task.PauseTarget{Kind: task.PauseTemplate, Namespace: engine.DefaultNamespace, Name: "t"}
			if _, _, err := e.Pause(t.Context(), engine.PauseRequest{Target: target, Actor: "ann"}); err != nil {
				t.Fatal(err)
			}
			w := register(t, e, 10)
			leases, _, err := e.Poll(t.Context(), w.ID, 10, time.Minute, true)
			if err != nil || len(leases) != 1 || leases[0].Template.Name != "h" {
				t.Fatalf("the poll got %d steps, %v", len(leases), err)
			}
			if n := seen.n.Load(); n < many/1100 {
				t.Errorf("%d steps were parked in %d transactions", many, n)
			}
		})
	}
}

// TestPausesAreBounded: a namespace has its own bound. A paused target can be paused again, and a resume makes room.
func TestPausesAreBounded(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t, engine.Options{})
	target := func(namespace string, i int) task.PauseTarget {
		return task.PauseTarget{Kind: task.PauseHandler, Namespace: namespace, Name: fmt.Sprint("h", i)}
	}
	pause := func(of task.PauseTarget) error {
		_, _, err := e.Pause(t.Context(), engine.PauseRequest{Target: of, Actor: "ann"})
		return err
	}
	for i := range 1000 {
		if err := pause(target("shop", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := pause(target("shop", 1000)); task.CodeOf(err) != task.Exhausted {
		t.Errorf("one too many is answered with %v", err)
	}
	for _, of := range []task.PauseTarget{target("shop", 999), target("other", 0)} {
		if err := pause(of); err != nil {
			t.Errorf("%s: %v", of, err)
		}
	}
	if _, err := e.ResumePaused(t.Context(), target("shop", 5), "ann", ""); err != nil {
		t.Fatal(err)
	}
	if err := pause(target("shop", 1000)); err != nil {
		t.Errorf("after a resume: %v", err)
	}
}

// TestPausedStepsPress: paused steps count for back-pressure, on their route or parked.
func TestPausedStepsPress(t *testing.T) {
	t.Parallel()
	for kind, target := range map[string]task.PauseTarget{
		"Handler":  {Kind: task.PauseHandler, Namespace: engine.DefaultNamespace, Name: "h"},
		"Template": {Kind: task.PauseTemplate, Namespace: engine.DefaultNamespace, Name: "t"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e, tick := newEngine(t, engine.Options{Config: settings.Config{
				Backpressure: settings.Backpressure{Scope: settings.AllScope, Soft: 3, HighOnly: -1, AllowListOnly: -1}}})
			registerOne(t, e)
			if _, _, err := e.Pause(t.Context(), engine.PauseRequest{Target: target, Actor: "ann"}); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				submit(t, e, engine.Submission{Name: "t"})
			}
			tick(time.Hour)
			_, err := e.Submit(t.Context(), []engine.Submission{{Name: "t"}}, false)
			if task.CodeOf(err) != task.Exhausted {
				t.Errorf("one more than may wait is answered with %v", err)
			}
		})
	}
}
