package scenario_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// drawn is a template with the steps that fail when they run.
type drawn struct {
	template *task.Template
	fails    []bool
}

// workflow draws an acyclic template of up to 200 steps, some with conditions, waits, child tasks or failures.
func workflow(t *rapid.T) drawn {
	n := rapid.IntRange(1, 200).Draw(t, "steps")
	d := drawn{&task.Template{Namespace: "default", Name: "drawn", Version: "1", Fingerprint: "x"}, make([]bool, n)}
	for i := range n {
		s := task.StepSpec{Name: fmt.Sprint("s", i), Handler: "h", Retry: task.Retry{}}
		if i > 0 {
			for _, p := range rapid.SliceOfNDistinct(rapid.IntRange(max(0, i-20), i-1), 0, min(i, 3), rapid.ID).
				Draw(t, "parents") {
				s.Dependencies = append(s.Dependencies, fmt.Sprint("s", p))
			}
		}
		switch k := rapid.IntRange(0, 9).Draw(t, "when"); {
		case k == 0:
			s.When = "context.no"
		case k == 1:
			s.When = "context.yes && !context.no"
		case k == 2:
			s.When = "context.missing" // an error
			if rapid.IntRange(0, 9).Draw(t, "broken") > 0 {
				s.When = "has(context.missing)"
			}
		case k < 6 && len(s.Dependencies) > 0:
			s.When = fmt.Sprintf("parents.%s.state == %q", s.Dependencies[0],
				rapid.SampledFrom([]string{"complete", "skipped"}).Draw(t, "state"))
		}
		d.fails[i] = rapid.IntRange(0, 60).Draw(t, "fails") == 0
		d.kind(t, &s)
		d.template.Steps = append(d.template.Steps, s)
	}
	d.compensation(t)
	if faults := d.template.Link(); len(faults) > 0 {
		t.Fatalf("the template has faults: %v", faults)
	}
	return d
}

func (d *drawn) kind(t *rapid.T, s *task.StepSpec) {
	i := len(d.template.Steps)
	switch rapid.IntRange(0, 15).Draw(t, "kind") {
	case 0:
		s.Wait = &task.Wait{For: time.Minute}
	case 1:
		s.Wait = &task.Wait{Signal: "sent", Key: "{{key}}", Timeout: time.Minute}
	case 2:
		s.Wait = &task.Wait{Signal: "never", Key: "{{key}}", Timeout: time.Minute, OnTimeout: task.EndContinues}
		if d.fails[i] {
			s.Wait.OnTimeout = task.EndFails
		}
		s.Handler = ""
		return
	case 3: // with children that fail, if it does
		s.Tasks = &task.ChildSpec{Items: "context.items", Handler: "h", FailOnError: true,
			Concurrency: rapid.IntRange(1, 3).Draw(t, "width")}
		s.Handler = ""
		return
	default:
		return
	}
	s.Handler, d.fails[i] = "", false
}

// compensation draws up to ten compensation steps, in sequence or in parallel.
func (d *drawn) compensation(t *rapid.T) {
	n := len(d.fails)
	for i := range rapid.IntRange(0, 10).Draw(t, "compensation steps") {
		s := task.StepSpec{Name: fmt.Sprint("c", i), Handler: "h", OnFailure: true}
		for _, p := range rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, min(n, 2), rapid.ID).Draw(t, "undoes") {
			s.Dependencies = append(s.Dependencies, fmt.Sprint("s", p))
		}
		if i > 0 && rapid.Bool().Draw(t, "after") {
			s.Dependencies = append(s.Dependencies, fmt.Sprint("c", rapid.IntRange(0, i-1).Draw(t, "before")))
		}
		d.template.Steps = append(d.template.Steps, s)
		d.fails = append(d.fails, rapid.IntRange(0, 9).Draw(t, "fails") == 0)
	}
}

// want returns the final state of each step, in the order of the template, which is one of dependencies.
func (d drawn) want() []task.StepState {
	states := make([]task.StepState, len(d.fails))
	for i := range d.template.Steps {
		s := &d.template.Steps[i]
		states[i] = task.StepComplete
		if d.fails[i] {
			states[i] = task.StepErrored
		}
		switch {
		case s.When == "context.no" || s.When == "has(context.missing)":
			states[i] = task.StepSkipped
		case s.When == "context.missing":
			states[i] = task.StepErrored
		case strings.HasPrefix(s.When, "parents."):
			if of := states[s.Parents[0]]; !strings.HasSuffix(s.When, strconv.Quote(string(of))) {
				states[i] = task.StepSkipped
			}
		}
		for _, p := range s.Parents {
			if !states[p].Satisfies() {
				states[i] = task.StepPending
			}
		}
	}
	d.wantCompensation(states)
	return states
}

// wantCompensation derives the states of the compensation steps from those of the others.
func (d drawn) wantCompensation(states []task.StepState) {
	ended := func(s *task.StepSpec) bool {
		return !slices.ContainsFunc(s.Undoes, func(p int) bool { return states[p] != task.StepComplete })
	}
	failed, applies := false, false
	for i := range d.template.Steps {
		s := &d.template.Steps[i]
		failed = failed || !s.OnFailure && states[i] == task.StepErrored
		applies = applies || s.OnFailure && ended(s)
	}
	for i := range d.template.Steps {
		s := &d.template.Steps[i]
		switch {
		case !s.OnFailure:
		case !failed:
			states[i] = task.StepSkipped
		case !applies || slices.ContainsFunc(s.Parents, func(p int) bool { return !states[p].Satisfies() }):
			states[i] = task.StepPending
		case !ended(s):
			states[i] = task.StepSkipped
		case d.fails[i]:
			states[i] = task.StepErrored
		default:
			states[i] = task.StepComplete
		}
	}
}

// TestWorkflowsEnd: a task of any acyclic template with conditions, waits, signals, fan-outs, compensation and
// failures ends. Condition, parents and failure determine the state of each step, and none runs twice.
func TestWorkflowsEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := workflow(rt)
		store := memstore.New(&memstore.Options{Seed: 1})
		defer store.Close()
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		e, err := engine.New(t.Context(), store, engine.Options{Now: func() time.Time { return now }, ByHand: true})
		if err != nil {
			rt.Fatal(err)
		}
		if _, _, err := e.RegisterTemplate(t.Context(), d.template, engine.Registration{}); err != nil {
			rt.Fatal(err)
		}
		receipts, err := e.Submit(t.Context(), []engine.Submission{{Name: "drawn",
			Context: []byte(`{"yes": true, "no": false, "key": 7, "items": [1, 2, 3]}`)}}, false)
		if err != nil {
			rt.Fatal(err)
		}
		if _, _, err := e.SendSignal(t.Context(), engine.SignalRequest{Name: "sent", Key: "7"}); err != nil {
			rt.Fatal(err)
		}
		r := workflowRun{d: d, e: e, task: receipts[0].ID, ran: map[task.ID]int{},
			later: func() { now = now.Add(2 * time.Minute) }}
		r.run(t.Context(), rt)
		ran := r.ran
		k, steps, err := e.Steps(t.Context(), receipts[0].ID)
		if err != nil {
			rt.Fatal(err)
		}
		end := task.Complete
		for i, want := range d.want() {
			s := steps[i]
			if s.State != want {
				rt.Errorf("step %d (%s) is %s and must be %s", i, d.template.Steps[i].When, s.State, want)
			}
			if began := s.Attempts > 0 && d.template.Steps[i].Worked(); began != (ran[s.ID] == 1) || ran[s.ID] > 1 {
				rt.Errorf("step %d is %s and ran %d times", i, s.State, ran[s.ID])
			}
			if want == task.StepErrored {
				end = task.Errored
			}
		}
		if k.State != end || k.Counts.Total() != len(steps) {
			rt.Errorf("the task is %s with %+v and must be %s", k.State, k.Counts, end)
		}
	})
}

type workflowRun struct {
	d     drawn
	e     *engine.Engine
	task  task.ID
	ran   map[task.ID]int // how often each step ran
	later func()
}

// run runs steps until none is left, and advances the clock.
func (r *workflowRun) run(ctx context.Context, rt *rapid.T) {
	w, err := r.e.Register(ctx, task.Worker{Name: "w", Capacity: 1000})
	if err != nil {
		rt.Fatal(err)
	}
	for idle := 0; idle < 2; idle++ {
		for {
			n, err := r.round(ctx, w.ID)
			if err != nil {
				rt.Fatal(err)
			}
			if n == 0 {
				break
			}
			idle = 0
		}
		r.later()
		if _, _, err := r.e.Heartbeat(ctx, engine.Beat{Worker: w.ID}); err != nil {
			rt.Fatal(err)
		}
	}
}

// round does all that is possible now, and returns the amount.
func (r *workflowRun) round(ctx context.Context, worker task.ID) (int, error) {
	fired, err := r.e.FireTimers(ctx, 1000)
	if err != nil {
		return 0, err
	}
	signals, _, err := r.e.HandOverSignals(ctx)
	if err != nil {
		return 0, err
	}
	families, _, err := r.e.AdvanceChildren(ctx)
	if err != nil {
		return 0, err
	}
	leases, _, err := r.e.Poll(ctx, worker, 100, 0, true)
	if err != nil {
		return 0, err
	}
	for _, l := range leases {
		r.ran[l.Step.ID]++
		result := engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted, Result: []byte("1")}
		if fails, err := r.fails(ctx, l); err != nil {
			return 0, err
		} else if fails {
			result.Status, result.Failure = engine.ResultFailed, &task.Failure{Message: "as drawn"}
		}
		if _, err := r.e.Settle(ctx, []engine.Result{result}); err != nil {
			return 0, err
		}
	}
	return fired + signals + families + len(leases), nil
}

// fails reports whether a step fails: as drawn, or as the step whose child its task is.
func (r *workflowRun) fails(ctx context.Context, l engine.Lease) (bool, error) {
	if l.Task.ID == r.task {
		return r.d.fails[l.Step.Ordinal-1], nil
	}
	_, steps, err := r.e.Steps(ctx, r.task)
	if err != nil {
		return false, err
	}
	parent := slices.IndexFunc(steps, func(s *task.Step) bool { return s.ID == l.Task.Meta.Child.Step })
	return r.d.fails[parent], nil
}

// TestLongChainIsSkipped: skipping a thousand steps in a chain is one act, without deep recursion.
func TestLongChainIsSkipped(t *testing.T) {
	t.Parallel()
	d := drawn{template: &task.Template{Namespace: "default", Name: "chain", Version: "1", Fingerprint: "x"}}
	for i := range task.MaxSteps {
		s := task.StepSpec{Name: fmt.Sprint("s", i), Handler: "h", When: "context.no"}
		if i > 0 {
			s.Dependencies, s.When = []string{fmt.Sprint("s", i-1)}, fmt.Sprintf(`parents.s%d.state != "skipped"`, i-1)
		}
		d.template.Steps = append(d.template.Steps, s)
	}
	if faults := d.template.Link(); len(faults) > 0 {
		t.Fatal(faults)
	}
	store := memstore.New(&memstore.Options{Seed: 1})
	defer store.Close()
	e, err := engine.New(t.Context(), store, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.RegisterTemplate(t.Context(), d.template, engine.Registration{}); err != nil {
		t.Fatal(err)
	}
	receipts, err := e.Submit(t.Context(), []engine.Submission{{Name: "chain", Context: []byte(`{"no": false}`)}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := e.FireTimers(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d steps were due, %v", n, err)
	}
	k, _, err := e.Steps(t.Context(), receipts[0].ID)
	if err != nil || k.State != task.Complete || k.Counts.Done != task.MaxSteps {
		t.Errorf("the task is %+v %v", k, err)
	}
}
