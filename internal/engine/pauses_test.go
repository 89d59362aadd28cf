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

// claims counts transactions that claim.
type claims struct {
	notes

	n atomic.Int64
}

func (c *claims) Committed(of *engine.Commit) {
	if of.Verb == "claim" {
		c.n.Add(1)
	}
}

// registerOne registers the template "t" of one step of the handler "h".
func registerOne(t *testing.T, e *engine.Engine) {
	t.Helper()
	tpl := &task.Template{Namespace: engine.DefaultNamespace, Name: "t", Version: "1",
		Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: task.DefaultRetry()}}}
	tpl.Link()
	if _, _, err := e.RegisterTemplate(t.Context(), tpl, engine.Registration{}); err != nil {
		t.Fatal(err)
	}
}

// TestClaimOfManyPaused: a poll gets what is behind many steps of a paused template, and no transaction parks more than
// a bounded number of them.
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
				if i == 0 { // known to both
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

// TestPausesAreBounded: one pause too many is refused, in a namespace before all namespaces together. What is paused
// already can be paused anew, and a resume makes room.
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

// TestPausedStepsPress: steps that a pause holds back count for back-pressure, whether they wait on their route or were
// set aside for a template.
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
			tick(time.Hour) // so that it counts anew
			_, err := e.Submit(t.Context(), []engine.Submission{{Name: "t"}}, false)
			if task.CodeOf(err) != task.Exhausted {
				t.Errorf("one more than may wait is answered with %v", err)
			}
		})
	}
}
