package engine_test

import (
	"context"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

type failing struct {
	engine.Database
	left int // writes until it fails; negative: never
}

func (s *failing) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	if s.left == 0 {
		return task.Errorf(task.Unavailable, "the database does not answer")
	}
	s.left--
	return s.Database.Write(ctx, fn)
}

// The answer lists the finished items, and its cursor continues after them.
func TestBulkGoesOn(t *testing.T) {
	t.Parallel()
	store := &failing{memstore.New(nil), -1}
	e, err := engine.New(t.Context(), store, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const n = 250
	receipts, err := e.Submit(t.Context(), submissionsOf(n), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range receipts {
		if _, err := e.OpenCase(t.Context(), r.ID, engine.CaseRequest{Actor: "ann", Reason: "odd"}); err != nil {
			t.Fatal(err)
		}
	}
	bulk := engine.Bulk{Filter: engine.CaseFilter{Status: task.CasePending, Limit: 1000}}
	resolve := task.CaseChange{Status: task.CaseResolved, Actor: "ann"}

	store.left = 1
	got, err := e.UpdateCases(t.Context(), bulk, resolve)
	if err != nil || len(got.Items) != 100 || task.CodeOf(got.Err) != task.Unavailable || got.Next != got.Items[99].Case {
		t.Fatalf("with a store that fails: %d items, next %v, %v, %v", len(got.Items), got.Next, got.Err, err)
	}
	store.left = 0
	bulk.Filter.Below = got.Next
	if _, err := e.UpdateCases(t.Context(), bulk, resolve); task.CodeOf(err) != task.Unavailable {
		t.Errorf("with a store that fails at once: %v", err)
	}
	store.left = -1
	got, err = e.UpdateCases(t.Context(), bulk, resolve)
	if err != nil || len(got.Items) != n-100 || got.Err != nil || !got.Next.IsZero() {
		t.Errorf("after that: %d items, next %v, %v, %v", len(got.Items), got.Next, got.Err, err)
	}
}

func submissionsOf(n int) []engine.Submission {
	subs := make([]engine.Submission, n)
	for i := range subs {
		subs[i].TaskType = "h"
	}
	return subs
}
