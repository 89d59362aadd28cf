package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// fixture is an open store with a few templates and routes.
type fixture struct {
	*testing.T
	store engine.Database
	now   task.Instant

	routes  [3]*task.Route // of the handlers a, b and c
	single  *task.Template // one step with handler a, for it
	diamond *task.Template // start; left and right; end
}

func newFixture(t *testing.T, s engine.Database) *fixture {
	t.Helper()
	f := &fixture{T: t, store: s, now: task.At(time.Date(2026, 3, 1, 12, 0, 0, 123_456_000, time.UTC))}
	f.single = task.Adhoc("default", "a")
	f.single.CreatedAt = f.now.Time()
	f.diamond = diamond("default", "diamond", "1")
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for i, handler := range []string{"a", "b", "c"} {
			f.routes[i] = &task.Route{Namespace: "default", Handler: handler}
			if err := tx.InsertRoute(ctx, f.routes[i]); err != nil {
				return err
			}
		}
		if _, err := tx.InsertTemplate(ctx, f.single); err != nil {
			return err
		}
		_, err := tx.InsertTemplate(ctx, f.diamond)
		return err
	})
	return f
}

// diamond returns a template of four steps with every field set.
func diamond(namespace, name, version string) *task.Template {
	high := 75
	t := &task.Template{Namespace: namespace, Name: name, Version: version, Description: "two branches that meet",
		Priority: &high, InputSchema: []byte(`{"type":"object"}`),
		Lifecycle: task.Lifecycle{MaxWaitingForDependencies: time.Hour, MaxWaitingForRetry: 2 * time.Hour,
			MaxStepsInProcess: 3 * time.Hour, MaxDuration: 4 * time.Hour}, DispatchTTL: 90 * time.Second,
		Concurrency: &limit.Spec{Key: "{{a.b}}", Permits: 3},
		Source:      "name: " + name, Fingerprint: "f00d" + version, CreatedAt: time.Date(2026, 2, 1, 0, 0, 0, 1000, time.UTC),
		Steps: []task.StepSpec{
			{Name: "start", Handler: "a", Description: "first", Initialization: []byte(`{"n":1}`), Retry: task.DefaultRetry(),
				Timeout: 30 * time.Second},
			{Name: "left", Handler: "b", Dependencies: []string{"start"}, Retry: task.Retry{Retryable: true, MaxAttempts: 3,
				Backoff: task.BackoffLinear, Base: 1500 * time.Millisecond, Max: time.Minute, Jitter: 0.25, BaseSaid: true,
				JitterSaid: true}},
			{Name: "right", Handler: "c", Dependencies: []string{"start"}, Priority: &high,
				DispatchTTL: 1500 * time.Millisecond, When: "context.n > 1",
				RateLimit: &limit.Spec{Rate: limit.Rate{Count: 2, Per: time.Minute, Burst: 5}}},
			{Name: "end", Handler: "a", Dependencies: []string{"left", "right"}, Capabilities: []string{"gpu", "net"}},
		}}
	t.Link()
	return t
}

// write runs fn as one transaction that must succeed. fn may run more than once, so it changes nothing but rows from
// tx; and it may run in another goroutine, so it returns its errors instead of ending the test.
func (f *fixture) write(fn func(ctx context.Context, tx engine.Tx) error) {
	f.Helper()
	if err := f.store.Write(f.Context(), fn); err != nil {
		f.Fatalf("Write: %v", err)
	}
}

type job struct {
	task  *task.Task
	steps []*task.Step
}

// build makes a job of a template: steps without parents are ready at now plus age on their route, the others pending.
func (f *fixture) build(def *task.Template, age time.Duration) job {
	ids, ready := f.store.IDs(), f.now.Add(age)
	id := ids.Take(ready.Time(), len(def.Steps)+1)
	j := job{task: &task.Task{ID: id, DefID: def.DefID, State: task.Pending, Priority: 50, CreatedAt: ready}}
	for i, spec := range def.Steps {
		s := &task.Step{ID: ids.Step(id, i+1), TaskID: id, Ordinal: i + 1, DefID: def.DefID, RouteID: f.routeOf(spec.Handler),
			Priority: 50, State: task.StepPending, OpenParents: len(spec.Parents), MaxAttempts: 4, Timeout: 600 * time.Second}
		if len(spec.Parents) == 0 {
			f.must(s.Enqueue(ready, task.Scheduling{}))
		}
		j.task.Counts.Add(s.State)
		j.steps = append(j.steps, s)
	}
	j.task.Reevaluate(ready, false)
	return j
}

func (f *fixture) routeOf(handler string) int64 {
	for _, r := range f.routes {
		if r.Handler == handler {
			return r.ID
		}
	}
	f.Fatalf("the fixture has no route for the handler %q", handler)
	return 0
}

func (f *fixture) insert(jobs ...job) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return insert(ctx, tx, jobs...) })
}

func insert(ctx context.Context, tx engine.Tx, jobs ...job) error {
	var tasks []*task.Task
	var steps []*task.Step
	for _, j := range jobs {
		tasks = append(tasks, j.task)
		steps = append(steps, j.steps...)
	}
	return tx.InsertTasks(ctx, tasks, steps)
}

func (f *fixture) one() job {
	f.Helper()
	j := f.build(f.single, 0)
	f.insert(j)
	return j
}

// many stores n jobs of a single step, ready a second apart.
func (f *fixture) many(n int) []job {
	f.Helper()
	jobs := make([]job, n)
	for i := range jobs {
		jobs[i] = f.build(f.single, time.Duration(i)*time.Second)
	}
	f.insert(jobs...)
	return jobs
}

// move changes the only step of a job, lets the task follow, and saves both in one transaction.
func (f *fixture) move(j job, fn func(s *task.Step) error) {
	f.Helper()
	f.moveAt(j, f.now, fn)
}

func (f *fixture) moveAt(j job, now task.Instant, fn func(s *task.Step) error) {
	f.Helper()
	was := j.steps[0].State
	f.must(fn(j.steps[0]))
	j.task.Moved(was, j.steps[0].State, now)
	f.write(j.save)
}

func (j job) save(ctx context.Context, tx engine.Tx) error {
	if err := tx.SaveTasks(ctx, []*task.Task{j.task}); err != nil {
		return err
	}
	return tx.SaveSteps(ctx, j.steps)
}

func (f *fixture) finish(j job, at task.Instant) {
	f.Helper()
	f.moveAt(j, at, func(s *task.Step) error { return s.Succeed(at, nil) })
}

func (f *fixture) find(id task.ID) *task.Task {
	f.Helper()
	t, err := f.store.FindTask(f.Context(), id)
	if err != nil {
		f.Fatalf("FindTask: %v", err)
	}
	return t
}

func (f *fixture) findSteps(id task.ID) []*task.Step {
	f.Helper()
	steps, err := f.store.FindSteps(f.Context(), id)
	if err != nil {
		f.Fatalf("FindSteps: %v", err)
	}
	return steps
}

func (f *fixture) wantJob(j job) {
	f.Helper()
	f.equal("task", f.find(j.task.ID), j.task)
	f.equal("steps", f.findSteps(j.task.ID), j.steps)
}

// equal treats an empty list as none.
func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	// Bytes as text are quick to compare and readable.
	text := cmp.FilterValues(func(a, b []byte) bool { return len(a) > 0 || len(b) > 0 },
		cmp.Transformer("text", func(b []byte) string { return string(b) }))
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), text); diff != "" {
		f.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// stepIDs and workIDs name rows, to compare their order.
func stepIDs(jobs ...job) []task.ID {
	var ids []task.ID
	for _, j := range jobs {
		for _, s := range j.steps {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

func workIDs(works []engine.Work) []task.ID {
	var ids []task.ID
	for _, w := range works {
		ids = append(ids, w.Step.ID)
	}
	return ids
}
