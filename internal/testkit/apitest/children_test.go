package apitest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

const eachTemplate = `
name: each
version: "1"
steps:
  - {name: each, for_each: {items: context.items, handler: resize, concurrency: 3, results: counts}}
`

// TestChildren: bounds and refusals of child tasks over HTTP: long lists, large pages, repetitions, and concurrent
// acts.
func TestChildren(t *testing.T) { onEveryStore(t, testChildren) }

func testChildren(t *testing.T, s *server) {
	if _, err := s.RegisterTemplate(s.ctx, tasker.TemplateSource{YAML: eachTemplate}); err != nil {
		t.Fatal(err)
	}
	items := func(n int) json.RawMessage {
		return json.RawMessage(`{"items":[` + strings.TrimSuffix(strings.Repeat(`"\u0000\u202e",`, n), ",") + `]}`)
	}
	req := tasker.TaskRequest{Name: "each", Context: items(10_000), IdempotencyKey: "k"}
	most, err := s.Submit(s.ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Submit(s.ctx, req)
	if err != nil || again.TaskUUID != most.TaskUUID {
		t.Fatalf("the same twice: %+v, %v", again, err)
	}
	begun := func(st *tasker.Step) bool { return st.Children != nil && st.Children.Running > 0 }
	step := s.eachStep(t, most.TaskUUID, begun)
	if c := *step.Children; c.Total != 10_000 || c.Submitted != 3 || c.Running != 3 {
		t.Errorf("10,000 children: %+v", c)
	}
	of := operate.Of(s.Client)
	page, err := of.StepChildren(s.ctx, most.TaskUUID, step.StepUUID, operate.ChildFilter{Limit: 2})
	if err != nil || len(page.Children) != 2 || page.Next != 2 {
		t.Errorf("page %+v, %v", page, err)
	}
	page, err = of.StepChildren(s.ctx, most.TaskUUID, step.StepUUID, operate.ChildFilter{From: 1_000_000})
	if err != nil || len(page.Children) != 0 {
		t.Errorf("page behind the end %+v, %v", page, err)
	}
	path := s.url + "/v1/tasks/" + most.TaskUUID.String() + "/workflow_steps/" + step.StepUUID.String() + "/children"
	for _, query := range []string{"?limit=1001", "?limit=0", "?limit=-1", "?from=-1", "?from=9999999999999999999",
		"?state=lost", "?state=%00"} {
		resp, err := http.Get(path + query)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode < 400 || resp.StatusCode > 499 {
			t.Errorf("%s is answered with %d", query, resp.StatusCode)
		}
	}
	if _, err := of.StepChildren(s.ctx, uuid.New(), step.StepUUID, operate.ChildFilter{}); tasker.ErrorCode(err) !=
		tasker.CodeNotFound {
		t.Errorf("children of a step of another task: %v", err)
	}

	// One more than the limit fails the step, with the reason.
	tooMany := s.submit(t, tasker.TaskRequest{Name: "each", Context: items(10_001)})
	failed := s.eachStep(t, tooMany.TaskUUID, func(st *tasker.Step) bool { return st.State == tasker.StepError })
	if failed.LastError.Code != "CHILDREN_TOO_LARGE" || !strings.Contains(failed.LastError.Message, "10001 items") {
		t.Errorf("10,001 children: %+v", failed.LastError)
	}
	s.cancelTwice(t, most.TaskUUID)
	ended := s.eachStep(t, most.TaskUUID, func(st *tasker.Step) bool { return st.Children.GivenUp == 3 })
	if c := *ended.Children; c.Submitted != 3 || c.Running != 0 {
		t.Errorf("children of a cancelled task: %+v", c)
	}
	testOwnTemplates(t, s)
	testChildrenEnd(t, s)
}

func (s *server) cancelTwice(t *testing.T, id uuid.UUID) {
	t.Helper()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			receipts, err := s.CancelTasks(s.ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{id}, CancelledBy: "ann",
				Reason: "twice"})
			if err != nil || receipts[0].Error != nil {
				t.Errorf("cancel %+v, %v", receipts, err)
			}
		})
	}
	both.Wait()
}

// testOwnTemplates: the document has the template's child tasks, and invalid ones are refused.
func testOwnTemplates(t *testing.T, s *server) {
	got, err := s.Template(s.ctx, "", "each", "1")
	if err != nil {
		t.Fatal(err)
	}
	want := tasker.TemplateEach{Items: "context.items", Handler: "resize", Concurrency: 3, MaxFailed: "0", OnError: "wait",
		Results: "counts"}
	if e := got.Steps[0].ForEach; e == nil || *e != want || got.Steps[0].Handler != "" {
		t.Errorf("for_each is %+v", got.Steps[0])
	}
	for _, step := range []string{
		`{items: context.items, handler: "a\u0000"}`, `{items: context.items, handler: h, template: t}`,
		`{items: context.items, handler: h, concurrency: 0}`, `{items: context.items, handler: h, concurrency: 100001}`,
		`{items: context.items, handler: h, max_failed: "101%"}`, `{items: context.items, handler: h, max_failed: -1}`,
		`{items: "context.items +", handler: h}`, `{handler: h}`, `{items: context.items}`,
		`{items: context.items, handler: ` + strings.Repeat("x", 10_000) + `}`,
		`{items: context.items, handler: h, on_error: ignore}`, `{items: context.items, handler: h, results: all}`,
	} {
		yaml := "name: bad\nversion: \"1\"\nsteps: [{name: a, for_each: " + step + "}]\n"
		if _, err := s.RegisterTemplate(s.ctx, tasker.TemplateSource{YAML: yaml}); tasker.ErrorCode(err) !=
			tasker.CodeInvalid {
			t.Errorf("%.80s: %v", step, err)
		}
	}
}

// testChildrenEnd: workers of the SDK carry out children; their counts are the step's result.
func testChildrenEnd(t *testing.T, s *server) {
	w := worker.New(s.Client, &worker.Options{Name: "w", PollWait: time.Second,
		Namespaces: []string{protocol.AllNamespaces},
		Logger:     slog.New(slog.DiscardHandler)})
	w.Handle("resize", func(_ context.Context, job *worker.Job) (any, error) {
		var in struct{ Item, Index int }
		if err := job.Decode(&in); err != nil || in.Item != in.Index {
			return nil, worker.NonRetryable(fmt.Errorf("%+v: %w", in, err))
		}
		return nil, nil
	})
	defer s.runWorker(t, w)()
	parent := s.submit(t, tasker.NewTask("each", map[string][]int{"items": {0, 1, 2, 3, 4, 5, 6}}))
	if done, err := s.Wait(s.ctx, parent.TaskUUID); err != nil || done.State != tasker.TaskComplete {
		t.Fatalf("the parent is %+v, %v", done, err)
	}
	step := s.eachStep(t, parent.TaskUUID, func(*tasker.Step) bool { return true })
	var counts struct{ Total, Done, Failed int }
	if err := json.Unmarshal(step.Results, &counts); err != nil || counts.Total != 7 || counts.Done != 7 {
		t.Errorf("the result is %s", step.Results)
	}
}

func (s *server) eachStep(t *testing.T, id uuid.UUID, wanted func(*tasker.Step) bool) *tasker.Step {
	t.Helper()
	for {
		steps, err := s.Steps(s.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if wanted(&steps[0]) {
			return &steps[0]
		}
		if s.ctx.Err() != nil {
			t.Fatalf("the step stays %+v", steps[0])
		}
	}
}
