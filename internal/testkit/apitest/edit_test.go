package apitest_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
)

const orders = `name: order
namespace_name: shop
version: "1"
input_schema: {type: object, required: [sku], properties: {sku: {type: string}}}
steps:
  - {name: check, handler: check}
  - {name: charge, handler: charge, dependencies: [check], retry: {max_attempts: 1}}
`

// TestEditContext: a task in error continues with an edited context, and the old one is kept.
func TestEditContext(t *testing.T) { onEveryStore(t, testEditContext) }

func testEditContext(t *testing.T, s *server) {
	s.register(t, orders)
	var mu sync.Mutex
	var seen []string
	s.work(t, map[string]worker.Handler{
		"check": func(context.Context, *worker.Job) (any, error) { return nil, nil },
		"charge": func(_ context.Context, j *worker.Job) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, string(j.Parameters))
			if strings.Contains(string(j.Parameters), "a1") {
				return nil, &tasker.Failure{Message: "no such sku"}
			}
			return nil, nil
		},
	})
	order := tasker.TaskRequest{Name: "order", Namespace: "shop", Context: json.RawMessage(`{"sku":"a1","n":2}`),
		IdempotencyKey: "one"}
	receipt := s.submit(t, order)
	s.settled(t, receipt, tasker.TaskError)

	edit := func(req tasker.EditContextRequest) (*tasker.EditedContext, error) {
		req.Reason, req.EditedBy = "typo", "ann"
		return s.EditContext(s.ctx, receipt.TaskUUID, req)
	}
	for name, req := range map[string]tasker.EditContextRequest{
		"Whole":  {Context: json.RawMessage(`{"n":1}`)},
		"Merge":  {Merge: json.RawMessage(`{"sku":null}`)},
		"NoJSON": {Merge: json.RawMessage(`7`)},
		"Null":   {Context: json.RawMessage(`null`)},
		"None":   {},
		"Large":  {Merge: json.RawMessage(`{"x":"` + strings.Repeat("x", 256<<10-10) + `"}`)},
	} {
		if out, err := edit(req); tasker.ErrorCode(err) != tasker.CodeInvalid {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
	left, err := edit(tasker.EditContextRequest{Merge: json.RawMessage(`{"n":3}`), NoRetry: true})
	if err != nil || left.State != tasker.TaskError || left.ContextVersion != 1 || left.ReplayedSteps != 0 {
		t.Fatalf("an edit without a retry: %+v, %v", left, err)
	}
	zero := 0
	four := tasker.EditContextRequest{Merge: json.RawMessage(`{"n":4}`)}
	late := four
	late.ExpectedVersion = &zero
	if _, err := edit(late); tasker.ErrorCode(err) != tasker.CodeConflict {
		t.Errorf("an edit of what has been edited meanwhile: %v", err)
	}
	out, err := edit(tasker.EditContextRequest{Merge: json.RawMessage(`{"sku":"a2"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := &tasker.EditedContext{TaskUUID: receipt.TaskUUID, State: tasker.TaskEnqueuingSteps, ContextVersion: 2,
		Changed: true, Context: json.RawMessage(`{"n":3,"sku":"a2"}`), OldContext: json.RawMessage(`{"n":3,"sku":"a1"}`),
		EndedSteps: []string{"check"}, ReplayedSteps: 1}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	task := s.settled(t, receipt, tasker.TaskComplete)
	if string(task.Context) != `{"n":3,"sku":"a2"}` || task.ContextVersion != 2 || task.ContextEditedBy != "ann" ||
		task.ContextEditedAt == nil {
		t.Errorf("the task is %+v", task)
	}
	mu.Lock()
	if diff := cmp.Diff([]string{`{"sku":"a1","n":2}`, `{"n":3,"sku":"a2"}`}, seen); diff != "" {
		t.Errorf("what the handler got (-want +got):\n%s", diff)
	}
	mu.Unlock()
	if _, err := edit(four); tasker.ErrorCode(err) != tasker.CodeWrongState {
		t.Errorf("an edit of a task that is over: %v", err)
	}
	keepsOldContexts(t, s, receipt)
	if again := s.submit(t, order); again.TaskUUID != receipt.TaskUUID {
		t.Errorf("the key of an edited task is answered %+v", again)
	}
}

func keepsOldContexts(t *testing.T, s *server, receipt tasker.TaskReceipt) {
	t.Helper()
	history, err := s.TaskHistory(s.ctx, receipt.TaskUUID)
	if err != nil || len(history.ContextEdits) != 2 {
		t.Fatalf("the history is %+v, %v", history, err)
	}
	first, second := history.ContextEdits[0], history.ContextEdits[1]
	if string(first.OldContext) != `{"sku":"a1","n":2}` || first.Replayed || first.Actor != "ann" ||
		string(second.OldContext) != `{"n":3,"sku":"a1"}` ||
		!second.Replayed || second.ContextVersion != 2 || string(second.Merge) != `{"sku":"a2"}` {
		t.Errorf("the edits are %+v", history.ContextEdits)
	}
	records, err := s.Audit(s.ctx, operate.AuditFilter{TaskUUID: receipt.TaskUUID, Kind: "edit_context"})
	if err != nil || len(records) != 2 || records[0].No != second.No || records[0].CaseUUID == nil {
		t.Fatalf("the audit trail is %+v, %v", records, err)
	}
	found, err := s.CaseOfTask(s.ctx, receipt.TaskUUID)
	if err != nil {
		t.Fatal(err)
	}
	if snapshot := string(found.Snapshot); !strings.Contains(snapshot, `"sku":"a1"`) ||
		strings.Contains(snapshot, `"sku":"a2"`) {
		t.Errorf("the snapshot is %s", snapshot)
	}
}
