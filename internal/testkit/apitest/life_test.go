package apitest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
)

const diamond = `
name: diamond
namespace_name: math
version: "1.0"
input_schema:
  type: object
  required: [n]
  properties: {n: {type: integer}}
steps:
  - {name: read, handler: read}
  - {name: double, handler: double, dependencies: [read]}
  - {name: square, handler: square, dependencies: [read]}
  - {name: sum, handler: sum, dependencies: [double, square]}
`

// arithmetic are the handlers of diamond.
func arithmetic() map[string]worker.Handler {
	of := func(parent string, fn func(int) int) worker.Handler {
		return func(_ context.Context, job *worker.Job) (any, error) {
			var n int
			err := job.ParentResult(parent, &n)
			return fn(n), err
		}
	}
	return map[string]worker.Handler{
		"read": func(_ context.Context, job *worker.Job) (any, error) {
			var in struct{ N int }
			err := job.Decode(&in)
			return in.N, err
		},
		"double": of("read", func(n int) int { return 2 * n }),
		"square": of("read", func(n int) int { return n * n }),
		"sum": func(_ context.Context, job *worker.Job) (any, error) {
			var a, b int
			err := errors.Join(job.ParentResult("double", &a), job.ParentResult("square", &b))
			return a + b, err
		},
	}
}

// TestDiamond: from a template to a result, with its history.
func TestDiamond(t *testing.T) { onEveryStore(t, testDiamond) }

func testDiamond(t *testing.T, s *server) {
	s.register(t, diamond)
	s.work(t, arithmetic())
	receipt := s.submit(t, tasker.TaskRequest{Name: "diamond", Namespace: "math", Context: json.RawMessage(`{"n": 5}`),
		Tags: []string{"sums"}})
	if !receipt.Created {
		t.Errorf("the receipt is %+v", receipt)
	}
	var sum int
	if err := s.Result(s.ctx, receipt.TaskUUID, "sum", &sum); err != nil || sum != 35 {
		t.Fatalf("the sum is %d, %v; want 35", sum, err)
	}
	task := s.settled(t, receipt, tasker.TaskComplete)
	if task.Name != "diamond" || task.Namespace != "math" || task.Version != "1.0" || task.TotalSteps != 4 ||
		task.CompletedSteps != 4 ||
		task.CompletionPercentage != 100 || task.FinishedAt == nil || string(task.Context) != `{"n":5}` ||
		task.Tags[0] != "sums" {
		t.Errorf("the task is %+v", task)
	}
	history, err := s.TaskHistory(s.ctx, receipt.TaskUUID)
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]int{} // place of a step's last transition
	for i, tr := range history.Transitions {
		if i > 0 && tr.At.Before(history.Transitions[i-1].At) {
			t.Errorf("transition %d is older than the one before", i)
		}
		switch {
		case tr.StepUUID == nil && tr.To == string(tasker.TaskComplete):
			done["task"] = i
		case tr.To == string(tasker.StepComplete):
			done[tr.StepName] = i
		}
	}
	if len(done) != 5 || done["task"] != len(history.Transitions)-1 || done["sum"] < done["square"] ||
		done["sum"] < done["double"] || done["double"] < done["read"] {
		t.Errorf("the history is out of order: %v", done)
	}
	if len(history.Attempts) != 4 || slices.ContainsFunc(history.Attempts, func(a tasker.Attempt) bool {
		return a.Outcome != "completed" || a.Attempt != 1 || a.Worker == ""
	}) {
		t.Errorf("the attempts are %+v", history.Attempts)
	}
	if x, err := s.ExplainTask(s.ctx, receipt.TaskUUID); err != nil ||
		!strings.HasPrefix(x.Summary, "The task completed at ") || len(x.Steps) != 0 {
		t.Errorf("the explanation is %+v, %v", x, err)
	}
	step := s.step(t, receipt, "sum")
	if one, err := s.Step(s.ctx, receipt.TaskUUID, step.StepUUID); err != nil || string(one.Results) != "35" ||
		one.TotalParents != 2 || one.CompletedParents != 2 {
		t.Errorf("the step is %+v, %v", one, err)
	}
}

func TestManyCallers(t *testing.T) { onEveryStore(t, testManyCallers) }

func testManyCallers(t *testing.T, s *server) {
	var mu sync.Mutex
	ran := map[string]int{}
	s.work(t, map[string]worker.Handler{"note": func(_ context.Context, job *worker.Job) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		ran[job.TaskUUID.String()]++
		return nil, nil
	}})
	const many = 200
	var wg sync.WaitGroup
	ids := make([]uuid.UUID, many)
	for i := range many {
		wg.Go(func() {
			receipt, err := s.Submit(s.ctx, tasker.NewHandlerTask("note", i))
			if err != nil || !receipt.Created {
				t.Errorf("submission %d is answered %+v, %v", i, receipt, err)
			}
			ids[i] = receipt.TaskUUID
		})
	}
	wg.Wait()
	for i, id := range ids {
		got, err := s.Wait(s.ctx, id)
		if err != nil || got.State != tasker.TaskComplete || string(got.Context) != fmt.Sprint(i) {
			t.Errorf("task %d ended as %+v, %v", i, got, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, id := range ids {
		if ran[id.String()] != 1 {
			t.Errorf("task %s ran %d times", id, ran[id.String()])
		}
	}
}

// TestRepairs: each act brings a task in error to its end.
func TestRepairs(t *testing.T) { onEveryStore(t, testRepairs) }

func testRepairs(t *testing.T, s *server) {
	s.register(t, strings.Replace(diamond, "input_schema:\n  type: object\n  required: [n]\n  properties: {n: {type: "+
		"integer}}\n", "", 1))
	var fixed atomic.Bool
	handlers := arithmetic()
	handlers["double"] = func(context.Context, *worker.Job) (any, error) {
		if fixed.Load() {
			return 1000, nil
		}
		return nil,
			worker.NonRetryable(&tasker.Failure{Type: "broken", Message: "out of order", Code: "E7", HTTPStatus: 500,
				ResponseBody: "no"})
	}
	handlers["sum"] = func(_ context.Context, job *worker.Job) (any, error) {
		return string(job.ParentResults["double"]), nil
	}
	s.work(t, handlers)
	submit := func() tasker.TaskReceipt {
		t.Helper()
		receipt := s.submit(t, tasker.TaskRequest{Name: "diamond", Namespace: "math", Context: json.RawMessage(`{"n":5}`)})
		s.settled(t, receipt, tasker.TaskError)
		return receipt
	}
	reset, resolved, completed := submit(), submit(), submit()

	broken := s.step(t, reset, "double")
	f := broken.LastError
	if broken.State != tasker.StepError || f == nil || f.Type != "broken" || f.Message != "out of order" ||
		f.Code != "E7" || f.HTTPStatus != 500 || f.ResponseBody != "no" || *f.Retryable {
		t.Errorf("the broken step is %+v with %+v", broken, f)
	}
	x, err := s.ExplainTask(s.ctx, reset.TaskUUID)
	if err != nil || x.State != tasker.TaskError || len(x.Steps) != 2 ||
		!strings.Contains(x.Steps[0].Why, "out of order") ||
		x.Steps[1].Next != "Repair double; then it continues automatically." {
		t.Errorf("the explanation is %+v, %v", x, err)
	}

	fixed.Store(true)
	for _, test := range []struct {
		name    string
		receipt tasker.TaskReceipt
		act     tasker.StepAction
		sum     string
	}{
		{"Reset", reset, tasker.StepAction{ActionType: tasker.ResetForRetry, ResetBy: "ann", Reason: "fixed"}, `"1000"`},
		{"Resolve", resolved, tasker.StepAction{ActionType: tasker.ResolveManually, ResolvedBy: "ann", Reason: "not needed"},
			`"null"`},
		{"Complete", completed, tasker.StepAction{ActionType: tasker.CompleteManually, CompletedBy: "ann", Reason: "by hand",
			CompletionData: &tasker.CompletionData{Result: json.RawMessage(`77`), Metadata: json.RawMessage(`{"ticket":1}`)}},
			`"77"`},
	} {
		step, err := s.ActOnStep(s.ctx, test.receipt.TaskUUID, s.step(t, test.receipt, "double").StepUUID, test.act)
		if err != nil || step.ResolvedBy != "ann" || step.ResolutionReason != test.act.Reason {
			t.Errorf("%s: answered %+v, %v", test.name, step, err)
			continue
		}
		// The task was in error until now: wait for the next state.
		for s.step(t, test.receipt, "sum").State != tasker.StepComplete && s.ctx.Err() == nil {
			if _, err := s.Task(s.ctx, test.receipt.TaskUUID, time.Second); err != nil {
				t.Fatal(err)
			}
		}
		s.settled(t, test.receipt, tasker.TaskComplete)
		if sum := s.step(t, test.receipt, "sum"); string(sum.Results) != test.sum {
			t.Errorf("%s: the sum read %s, want %s", test.name, sum.Results, test.sum)
		}
		history, err := s.TaskHistory(s.ctx, test.receipt.TaskUUID)
		if err != nil || !slices.ContainsFunc(history.Transitions, func(tr tasker.Transition) bool {
			return tr.StepName == "double" && tr.Actor == "ann" && tr.Reason == test.act.Reason
		}) {
			t.Errorf("%s: the history does not tell who did it: %+v, %v", test.name, history, err)
		}
	}
}

// TestCancelWhileRunning: the handler's context ends, and its result does not count.
func TestCancelWhileRunning(t *testing.T) { onEveryStore(t, testCancelWhileRunning) }

func testCancelWhileRunning(t *testing.T, s *server) {
	running, cause := make(chan struct{}), make(chan error, 1)
	s.work(t, map[string]worker.Handler{"slow": func(ctx context.Context, job *worker.Job) (any, error) {
		close(running)
		// A report of progress learns of the cancellation immediately.
		for ctx.Err() == nil {
			_ = job.Progress(1, "on it") // its error is the context's, checked next
		}
		cause <- context.Cause(ctx)
		return "too late", nil
	}})
	receipt := s.submit(t, tasker.TaskRequest{TaskType: "slow"})
	<-running
	receipts, err := s.CancelTasks(s.ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{receipt.TaskUUID, uuid.New()},
		CancelledBy: "ann", Reason: "too slow"})
	if err != nil || receipts[0].State != tasker.TaskCancelled || receipts[1].Error == nil ||
		receipts[1].Error.Code != tasker.CodeNotFound {
		t.Fatalf("the cancellation is answered %+v, %v", receipts, err)
	}
	if err := <-cause; !errors.Is(err, worker.ErrCancelled) {
		t.Errorf("the handler's context ended by %v", err)
	}
	task := s.settled(t, receipt, tasker.TaskCancelled)
	if task.CancelledBy != "ann" || task.CancelReason != "too slow" || s.step(t, receipt, "slow").Results != nil {
		t.Errorf("the task is %+v", task)
	}
	again, err := s.CancelTasks(s.ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{receipt.TaskUUID}})
	if err != nil || again[0].Error != nil || again[0].State != tasker.TaskCancelled {
		t.Errorf("cancelled again, it is answered %+v, %v", again, err)
	}
}

// TestRetry: a handler that recovers, and one that snoozes.
func TestRetry(t *testing.T) { onEveryStore(t, testRetry) }

func testRetry(t *testing.T, s *server) {
	s.work(t, map[string]worker.Handler{"flaky": func(_ context.Context, job *worker.Job) (any, error) {
		if job.Attempt == 1 {
			return nil, worker.RetryAfter(20*time.Millisecond, errors.New("busy"))
		}
		return job.Attempt, nil
	}})
	s.register(t, "name: flaky\nversion: \"1\"\nsteps: [{name: a, handler: flaky, retry: {max_attempts: 2, backoff: "+
		"none}}]\n")
	receipt := s.submit(t, tasker.TaskRequest{Name: "flaky"})
	s.settled(t, receipt, tasker.TaskComplete)
	history, err := s.TaskHistory(s.ctx, receipt.TaskUUID)
	if err != nil || len(history.Attempts) != 2 || history.Attempts[0].Outcome != "failed" ||
		history.Attempts[0].Error.Message != "busy" || history.Attempts[1].Outcome != "completed" {
		t.Fatalf("the history is %+v, %v", history, err)
	}
	if gap := history.Attempts[1].ReadyAt.Sub(*history.Attempts[0].FinishedAt); gap < 20*time.Millisecond {
		t.Errorf("the retry came after %v, before the 20 ms that were asked for", gap)
	}
}

func TestIdempotency(t *testing.T) { onEveryStore(t, testIdempotency) }

func testIdempotency(t *testing.T, s *server) {
	var wg sync.WaitGroup
	receipts := make([]tasker.TaskReceipt, 20)
	for i := range receipts {
		wg.Go(func() {
			var err error
			if receipts[i], err = s.Submit(s.ctx, tasker.TaskRequest{TaskType: "h", IdempotencyKey: "order-1"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	created := 0
	for _, r := range receipts {
		if r.Created {
			created++
		}
		if r.TaskUUID != receipts[0].TaskUUID {
			t.Errorf("one key has two tasks: %s and %s", r.TaskUUID, receipts[0].TaskUUID)
		}
	}
	if page, err := s.Tasks(s.ctx, tasker.TaskFilter{}); err != nil || len(page.Tasks) != 1 || created != 1 {
		t.Errorf("%d were created, the list is %+v, %v", created, page, err)
	}
}

func TestPages(t *testing.T) { onEveryStore(t, testPages) }

func testPages(t *testing.T, s *server) {
	tasks := make([]tasker.TaskRequest, 1000)
	for i := range tasks {
		tasks[i] = tasker.TaskRequest{TaskType: "h", CorrelationID: fmt.Sprint(i), Tags: []string{fmt.Sprint("mod", i%10)}}
	}
	receipts, err := s.SubmitTasks(s.ctx, tasker.SubmitRequest{Tasks: tasks})
	if err != nil || len(receipts) != 1000 {
		t.Fatalf("%d receipts, %v", len(receipts), err)
	}
	count := func(f tasker.TaskFilter) (n int) {
		t.Helper()
		seen := map[uuid.UUID]bool{}
		for {
			page, err := s.Tasks(s.ctx, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range page.Tasks {
				if seen[task.TaskUUID] {
					t.Fatalf("task %s is on two pages", task.TaskUUID)
				}
				seen[task.TaskUUID] = true
			}
			if f.Cursor = page.NextCursor; f.Cursor == "" {
				return len(seen)
			}
		}
	}
	if n := count(tasker.TaskFilter{Limit: 300}); n != 1000 {
		t.Errorf("the pages hold %d tasks, want 1000", n)
	}
	if n := count(tasker.TaskFilter{Tag: "mod3", Limit: 30}); n != 100 {
		t.Errorf("the pages of one tag hold %d tasks, want 100", n)
	}
	if n := count(tasker.TaskFilter{CorrelationID: "999"}); n != 1 {
		t.Errorf("%d tasks have the correlation id, want 1", n)
	}
}

func TestTemplates(t *testing.T) { onEveryStore(t, testTemplates) }

func testTemplates(t *testing.T, s *server) {
	first, err := s.RegisterTemplate(s.ctx, tasker.TemplateSource{YAML: diamond})
	if err != nil || !first.Created {
		t.Fatalf("registered as %+v, %v", first, err)
	}
	if again, err := s.RegisterTemplate(s.ctx, tasker.TemplateSource{YAML: diamond}); err != nil || again.Created ||
		again.Fingerprint != first.Fingerprint {
		t.Errorf("registered again as %+v, %v", again, err)
	}
	if _, err := s.RegisterTemplate(s.ctx,
		tasker.TemplateSource{YAML: strings.Replace(diamond, "handler: sum", "handler: other", 1)}); tasker.ErrorCode(
		err) != tasker.CodeConflict {
		t.Errorf("other content under the same version is answered %v", err)
	}
	if got, err := s.Template(s.ctx, "math", "diamond", ""); err != nil || got.Version != "1.0" ||
		got.Steps[3].Handler != "sum" || got.YAML != diamond {
		t.Errorf("the template is %+v, %v", got, err)
	}
	if page, err := s.Templates(s.ctx, tasker.TemplateFilter{Namespace: "math"}); err != nil || len(page.Templates) != 1 {
		t.Errorf("the list is %+v, %v", page, err)
	}
	// Without a version, the one registered last runs, even after the use of an older one.
	for _, version := range []string{"1.0", "0.9", "0.8"} {
		if _, err := s.RegisterTemplate(s.ctx,
			tasker.TemplateSource{YAML: strings.Replace(diamond, "1.0", version, 1)}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			receipt, err := s.Submit(s.ctx, tasker.TaskRequest{Namespace: "math", Name: "diamond",
				Context: []byte(`{"n": 1}`)})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := s.Task(s.ctx, receipt.TaskUUID, 0); err != nil || got.Version != version {
				t.Errorf("the task is %+v, %v; want version %s", got, err, version)
			}
		}
	}
}
